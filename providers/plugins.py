"""What a package that brings a provider of its own imports, and the port it fulfils: `docs/your-own-provider.md`.

The package names a `Preset` or a `ProviderPlugin`, or a function that returns one, as an entry point of the group
`cinch.providers`. The entry point is called what stands before the slash in a model's name.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from harness.deltas import Delta
from harness.errors import ModelNotFound
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from harness.ports.provider import ModelInfo, Request
from providers.catalog import Preset, Secret, ThinkingRule
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider
from providers.model_catalog.models import better_named, model_names
from providers.net.http_errors import failure, plain
from providers.net.ndjson import LineDecoder
from providers.net.sse import EventDecoder
from providers.net.stream import Framing, ReplyDecoder, deltas
from providers.net.transport import Transport, json_headers
from providers.service import Opener, Service
from providers.wire.names import safe_name

__all__ = [
    "Endpoint",
    "EventDecoder",
    "Framing",
    "LineDecoder",
    "Opener",
    "Preset",
    "ProviderPlugin",
    "ReplyDecoder",
    "Secret",
    "Service",
    "ThinkingRule",
    "Transport",
    "WireFormat",
    "WireService",
    "better_named",
    "deltas",
    "failure",
    "model_names",
    "plain",
    "safe_name",
]


@dataclass(frozen=True, slots=True)
class ProviderPlugin:
    """A provider that is not ours.

    Without `open`, the preset's `protocol` is one that cinch speaks; with it, any other name. `facts` tells what is
    known of a model by its name, quickly; without it, the price list is asked where the preset names one.
    """

    preset: Preset
    open: Opener | None = None
    facts: Callable[[str], ModelInfo | None] | None = None


class WireFormat(Protocol):
    """How a service is asked and how its answer is read; `WireService` does all the rest."""

    def format_request(self, request: Request) -> tuple[str, JsonObject]:
        """The path under the base URL, and the body that is posted there."""
        ...

    def framing(self) -> Framing:
        """What cuts one answer into events: `EventDecoder()` for server-sent ones, `LineDecoder()` for lines."""
        ...

    def decoder(self, endpoint: Endpoint) -> ReplyDecoder:
        """What reads the events of one answer."""
        ...


class WireService(HttpProvider):
    """A service that answers one POST with a stream of JSON events.

    Connections, time-outs, proxies, certificates, refusals, broken streams, keys and recordings are as with every other
    provider.
    """

    def __init__(self, endpoint: Endpoint, wire: WireFormat) -> None:
        path = endpoint.preset.models_path
        super().__init__(Transport(endpoint, json_headers(endpoint)), *([path] if path else ()))
        self._wire = wire

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport = self._transport.for_key(request.api_key, json_headers)
        try:
            async with aclosing(self._ask(request, transport)) as answer:
                async for delta in answer:
                    yield delta
        except ModelNotFound as error:
            path = transport.endpoint.preset.models_path
            raise (await better_named(error, transport, path, request.spec.model_id) if path else error) from error

    def _ask(self, request: Request, transport: Transport) -> AsyncGenerator[Delta]:
        path, body = self._wire.format_request(request)
        return deltas(transport, path, body, self._wire.decoder(transport.endpoint), self._wire.framing())


if TYPE_CHECKING:
    _: type[Service] = WireService
