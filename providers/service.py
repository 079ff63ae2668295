"""Port: a model service reached over HTTP; and services around another, such as one that supplies keys."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import AuthenticationFailed
from harness.messages import ModelSpec
from harness.ports.provider import Provider, Request, ThinkingAware
from providers.endpoint import Endpoint
from providers.preset import Preset

KeyCallback: TypeAlias = Callable[[], str | Awaitable[str | None] | None]
"""Returns the key for the next request, directly or as an awaitable; None if absent."""
ApiKey: TypeAlias = str | KeyCallback


class Service(Provider, Protocol):
    """A provider with preparation and model listing."""

    def warm(self) -> None:
        """Prepare for the first request; may be called from any thread, and more than once."""
        ...

    async def models(self) -> list[str]:
        """Return the models that the service lists.

        Raises:
            ProviderError: The service could not be queried.
        """
        ...


Opener: TypeAlias = Callable[[Endpoint], Service]
"""Creates the service at an endpoint; nothing is sent yet."""


@asynccontextmanager
async def open_stream(provider: Provider, request: Request) -> AsyncGenerator[AsyncIterator[Delta]]:
    """Open a reply; its connection is closed at the end, also of a reader that stops early."""
    deltas = provider.stream(request)
    try:
        yield deltas
    finally:
        # Otherwise it would stay open until it is garbage-collected.
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()


class WrappedService:
    """A service that passes everything on to another; a subclass adds `stream`."""

    def __init__(self, service: Service) -> None:
        self.name = service.name
        self._service = service

    def warm(self) -> None:
        self._service.warm()

    async def models(self) -> list[str]:
        return await self._service.models()

    async def close(self) -> None:
        await self._service.close()

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        service = self._service
        return not isinstance(service, ThinkingAware) or service.supports_thinking(spec, with_tools=with_tools)


class KeyedService(WrappedService):
    """Service whose key comes with each request: from the request itself, otherwise from a callback.

    Without either, a request fails before anything is sent if the preset requires a key.
    """

    def __init__(self, service: Service, preset: Preset, callback: KeyCallback | None, *, key_required: bool) -> None:
        super().__init__(service)
        self._preset = preset
        self._callback = callback
        self._key_required = key_required

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        key = request.api_key or (self._callback() if self._callback else None)
        key = await key if inspect.isawaitable(key) else key
        if not key and self._key_required:
            raise AuthenticationFailed(self._preset.missing_key)
        async with open_stream(self._service, replace(request, api_key=key or None)) as deltas:
            async for delta in deltas:
                yield delta
