"""Provider that replays a cassette: the recorded services' own code decodes the recorded bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ConfigError
from harness.messages import AssistantMessage, ModelMessage, ModelSpec
from harness.ports.provider import Model, ModelInfo, Provider, Request
from harness.thinking_level import ThinkingLevel
from providers.cassette.file import Exchange, read_exchanges
from providers.cassette.replay_queue import ReplayQueue
from providers.cassette.wires import playback_wire
from providers.endpoint import Endpoint
from providers.installed import preset_for
from providers.model_catalog.metadata import FREE, LazyModelInfo
from providers.model_catalog.prices import PricedModelInfo
from providers.preset import Secret
from providers.service import open_stream

NAME = "replay"
# Some services require a key.
NO_KEY = Secret("none-needed", "the cassette")


class ReplayProvider(Provider):
    """Answers requests with recorded responses, in order.

    A recording with several services uses all of them: each request goes to the service of the next exchange.
    """

    name = NAME

    def __init__(self, queue: ReplayQueue, build: Callable[[Endpoint], Provider]) -> None:
        self.queue = queue
        self._build = build
        self._services: dict[tuple[str, str], Provider] = {}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        exchange = self.queue.next()
        async with open_stream(self._service(exchange), _as_recorded(request, exchange)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        for service in self._services.values():
            await service.close()

    def _service(self, exchange: Exchange) -> Provider:
        at = (exchange.preset, exchange.base_url)
        if at not in self._services:
            endpoint = Endpoint(preset_for(exchange.preset), exchange.base_url, NO_KEY, playback_wire(self.queue))
            self._services[at] = self._build(endpoint)
        return self._services[at]


def replay_model(path: str, build: Callable[[Endpoint], Provider], thinking: ThinkingLevel) -> Model:
    """Return the model `replay/PATH`.

    Raises:
        ConfigError: There is no cassette, it is empty, or its service is unknown.
    """
    if not path:
        raise ConfigError("name a cassette, as in replay/PATH; --record PATH creates one")
    exchanges = read_exchanges(Path(path).expanduser())
    if not exchanges:
        raise ConfigError(f"the cassette {path} is empty: no request was recorded")
    first = exchanges[0]
    preset = preset_for(first.preset)

    is_vendors_own = Endpoint(preset, first.base_url).is_vendors_own

    async def free_info() -> ModelInfo:
        return replace(await PricedModelInfo(preset, first.model).load(), price=FREE)

    return Model(
        ReplayProvider(ReplayQueue(path, exchanges), build),
        ModelSpec(NAME, path, thinking),
        LazyModelInfo(free_info),
        native_schema=is_vendors_own and preset.enforces_schema(first.model),
        native_search=is_vendors_own and preset.searches(first.model),
    )


def _as_recorded(request: Request, exchange: Exchange) -> Request:
    """Return the request addressed to the recorded model, so that its own thinking is sent back to it."""
    spec = replace(request.spec, provider=exchange.preset, model_id=exchange.model)

    def restored(message: ModelMessage) -> ModelMessage:
        if isinstance(message, AssistantMessage) and message.provider == NAME:
            return replace(message, provider=exchange.preset, model=exchange.model)
        return message

    return replace(request, spec=spec, messages=tuple(restored(message) for message in request.messages), api_key=None)
