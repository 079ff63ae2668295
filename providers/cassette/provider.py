"""The provider that plays a cassette: the recorded services' own code reads what they once sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import ConfigError
from harness.messages import AssistantMessage, ModelMessage, ModelSpec
from harness.ports.provider import Model, ModelInfo, ModelInfoSource, Price, Provider, Request
from harness.thinking_level import ThinkingLevel
from providers.cassette.file import Exchange, read_exchanges
from providers.cassette.replay_queue import ReplayQueue
from providers.cassette.wires import PlaybackWire
from providers.catalog import Secret
from providers.endpoint import Endpoint
from providers.installed import preset_for
from providers.model_catalog.prices import PricedModelInfo

NAME = "replay"
# Some services are only spoken to with a key.
NO_KEY = Secret("none-needed", "the cassette")


class ReplayProvider:
    """Answers what is asked with what was recorded, in that order. `deck.tell` hears of requests that differ.

    A recording with several services is played by all of them: each request goes to the one whose turn it is.
    """

    name = NAME

    def __init__(self, deck: ReplayQueue, build: Callable[[Endpoint], Provider]) -> None:
        self.queue = deck
        self._build = build
        self._services: dict[tuple[str, str], Provider] = {}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        exchange = self.queue.next()
        answer = self._service(exchange).stream(_as_recorded(request, exchange))
        try:
            async for delta in answer:
                yield delta
        finally:
            # It was opened here, and would otherwise be closed when somebody collects it.
            if isinstance(answer, AsyncGenerator):
                await answer.aclose()

    async def close(self) -> None:
        for service in self._services.values():
            await service.close()

    def _service(self, exchange: Exchange) -> Provider:
        at = (exchange.preset, exchange.base_url)
        if at not in self._services:
            endpoint = Endpoint(preset_for(exchange.preset), exchange.base_url, NO_KEY, PlaybackWire(self.queue))
            self._services[at] = self._build(endpoint)
        return self._services[at]


class FreeModelInfo:
    """The recorded model's facts; nothing is paid for what is played."""

    def __init__(self, facts: ModelInfoSource) -> None:
        self._facts = facts

    @property
    def now(self) -> ModelInfo | None:
        facts = self._facts.now
        return facts and _unpaid(facts)

    async def load(self) -> ModelInfo:
        return _unpaid(await self._facts.load())


def replay_model(path: str, build: Callable[[Endpoint], Provider], thinking: ThinkingLevel) -> Model:
    """The model `replay/PATH`.

    Raises:
        ConfigError: there is no cassette, it is empty, or of a service that is not known.
    """
    if not path:
        raise ConfigError("say which cassette, as in replay/PATH; --record PATH makes one")
    exchanges = read_exchanges(Path(path).expanduser())
    if not exchanges:
        raise ConfigError(f"the cassette {path} holds no exchange: nothing was asked while it was recorded")
    first = exchanges[0]
    preset = preset_for(first.preset)
    return Model(
        ReplayProvider(ReplayQueue(path, exchanges), build),
        ModelSpec(NAME, path, thinking),
        FreeModelInfo(PricedModelInfo(preset, first.model)),
        native_schema=Endpoint(preset, first.base_url).is_vendors_own and preset.enforces_schema(first.model),
    )


def _unpaid(facts: ModelInfo) -> ModelInfo:
    return replace(facts, price=Price(0.0, 0.0))


def _as_recorded(request: Request, exchange: Exchange) -> Request:
    """The request as it was put to the recorded model, which gets its own thoughts back as such."""
    spec = replace(request.spec, provider=exchange.preset, model_id=exchange.model)

    def told(message: ModelMessage) -> ModelMessage:
        if isinstance(message, AssistantMessage) and message.provider == NAME:
            return replace(message, provider=exchange.preset, model=exchange.model)
        return message

    return replace(request, spec=spec, messages=tuple(told(message) for message in request.messages), api_key=None)


if TYPE_CHECKING:
    _: tuple[type[Provider], type[ModelInfoSource]] = (ReplayProvider, FreeModelInfo)
