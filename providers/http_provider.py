"""Base of the providers that are reached over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from providers.model_catalog.metadata import ListedModel
from providers.model_catalog.models import listed_models
from providers.net.transport import Transport

if TYPE_CHECKING:
    from providers.model_catalog.metadata import MetadataSource


class HttpProvider:
    """Connection handling and model listing; a subclass adds `stream`.

    Args:
        transport: Requests to the provider's endpoint.
        lists: Paths of the model list; the first that the server has is used.
    """

    def __init__(self, transport: Transport, *lists: str) -> None:
        self.name = transport.endpoint.preset.name
        self._transport = transport
        self._lists = lists

    def warm(self) -> None:
        """Prepare for the first request; meant for a thread, after the first paint."""
        self._transport.warm()

    async def close(self) -> None:
        await self._transport.close()

    async def models(self) -> list[str]:
        return [model.id for model in await self.listed()]

    async def listed(self) -> list[ListedModel]:
        return await listed_models(self._transport, *self._lists) if self._lists else []


if TYPE_CHECKING:
    _: type[MetadataSource] = HttpProvider
