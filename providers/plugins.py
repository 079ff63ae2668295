"""API for provider packages; see `docs/your-own-provider.md`.

A package names a `Preset`, a `ProviderPlugin`, or a function that returns one, as an entry point of the group
`cinch.providers`. The name of the entry point is the part of a model's name before the slash.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Set
from typing import Protocol

from msgspec import Struct

from harness.deltas import Delta
from harness.messages import JsonObject
from harness.ports.provider import ModelInfo, Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, better_named, model_names
from providers.net.framing import EventDecoder, Framing, LineDecoder
from providers.net.http_errors import failure, plain
from providers.net.stream import ReplyDecoder, deltas
from providers.net.transport import Transport
from providers.preset import Preset, Secret, ThinkingRule
from providers.service import Opener, Service
from providers.wire.encoding import safe_name

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


class ProviderPlugin(Struct, frozen=True):
    """A provider from a package."""

    preset: Preset
    """Address, keys and protocol."""

    open: Opener | None = None
    """Creates the service for a protocol of the package; None uses the built-in protocol that the preset names."""

    facts: Callable[[str], ModelInfo | None] | None = None
    """Returns information about a model by its name, quickly; without it the price data is used if the preset names a
    provider."""


class WireFormat(Protocol):
    """Request and response format of a service; `WireService` does the rest."""

    def format_request(self, request: Request) -> tuple[str, JsonObject]:
        """Return the path under the base URL and the body to post."""
        ...

    def framing(self) -> Framing:
        """Return the framing of one response: `EventDecoder()` for server-sent events, `LineDecoder()` for lines."""
        ...

    def decoder(self, endpoint: Endpoint) -> ReplyDecoder:
        """Return the decoder of one response."""
        ...


class WireService(HttpProvider):
    """A service that answers one POST with a stream of JSON events.

    Connections, timeouts, proxies, certificates, errors, keys and recordings work as for built-in providers.
    """

    def __init__(self, endpoint: Endpoint, wire: WireFormat) -> None:
        path = endpoint.preset.models_path
        super().__init__(endpoint, lists=(path,) if path else ())
        self._wire = wire

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport = await self._transport_for(request)
        path, body = self._wire.format_request(request)
        return deltas(transport, path, body, self._wire.decoder(transport.endpoint), self._wire.framing())
