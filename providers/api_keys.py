"""API keys from the embedding program: a string, or a callback that runs before each request."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from harness.deltas import Delta
from harness.errors import AuthenticationFailed
from harness.messages import ModelSpec
from harness.ports.provider import Provider, Request, ThinkingAware
from providers.catalog import Preset
from providers.service import Service

KeyCallback: TypeAlias = Callable[[], str | Awaitable[str | None] | None]
"""Returns the key for the next request, directly or as an awaitable; None if there is none."""
ApiKey: TypeAlias = str | KeyCallback


class KeyedService:
    """Service whose key comes with each request: from the request itself, otherwise from a callback.

    Without either, a request fails before anything is sent if the preset requires a key.
    """

    def __init__(self, service: Service, preset: Preset, callback: KeyCallback | None, *, key_required: bool) -> None:
        self.name = service.name
        self._service = service
        self._preset = preset
        self._callback = callback
        self._key_required = key_required

    def warm(self) -> None:
        self._service.warm()

    async def models(self) -> list[str]:
        return await self._service.models()

    async def close(self) -> None:
        await self._service.close()

    def heeds_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        service = self._service
        return not isinstance(service, ThinkingAware) or service.heeds_thinking(spec, with_tools=with_tools)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        key = request.api_key or await self._key()
        if not key and self._key_required:
            raise AuthenticationFailed(missing_key(self._preset))
        deltas = self._service.stream(replace(request, api_key=key or None))
        try:
            async for delta in deltas:
                yield delta
        finally:
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()

    async def _key(self) -> str | None:
        key = self._callback() if self._callback else None
        return await key if inspect.isawaitable(key) else key


def missing_key(preset: Preset) -> str:
    """Return the error text for a key that was not found."""
    return f"no key for {preset.label}: {key_remedy(preset)}"


def key_remedy(preset: Preset) -> str:
    """Return instructions for supplying the key."""
    return f"set {' or '.join(preset.variables)}, or pass api_key= to connect() for {preset.name}"


if TYPE_CHECKING:
    _: tuple[type[Provider], type[Service]] = (KeyedService, KeyedService)
