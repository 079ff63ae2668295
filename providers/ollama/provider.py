"""Provider for Ollama, on this machine, on another, or in its cloud."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Set
from urllib.parse import urlsplit

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, model_names
from providers.model_catalog.listing import metadata_of_model
from providers.model_catalog.metadata import ListedModel, ModelMetadata, ServerMetadataSource
from providers.net.framing import LineDecoder
from providers.net.stream import deltas
from providers.net.transport import Transport
from providers.ollama.decode import LineReplyDecoder
from providers.ollama.encode import encode
from providers.ollama.model_card import ModelCard, card_of

CHAT, SHOW, LIST, LOADED = "/api/chat", "/api/show", "/api/tags", "/api/ps"
CLOUD_NAMES = (":cloud", "-cloud")
AT_ONCE = 8


class OllamaProvider(HttpProvider, ServerMetadataSource):
    """Streams replies of one server, which is asked for the model's description before its first request.

    The server's own variables for the context window and keep-alive are honored if they are set here.
    """

    def __init__(self, endpoint: Endpoint, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(endpoint.without_path(CHAT, "/api", "/v1"), lists=(LIST,))
        self._environment = os.environ if environment is None else environment
        self._cards: dict[str, ModelCard] = {}

    async def models(self) -> list[str]:
        return await model_names(self._transport, LIST)

    async def listed(self) -> list[ListedModel]:
        """Return the pulled chat models with their descriptions."""
        pulled = await super().listed()
        at_once = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            shown = [group.create_task(self._listed_card(model.id, at_once)) for model in pulled]
        cards = [(model, task.result()) for model, task in zip(pulled, shown, strict=True)]
        return [replace(model, metadata=card.metadata) for model, card in cards if card.can("completion")]

    async def _listed_card(self, model_id: str, at_once: asyncio.Semaphore) -> ModelCard:
        """Return the card of a listed model; a default one if it cannot be read."""
        try:
            async with at_once:
                return await self._card(model_id, self._transport)
        except ProviderError:
            return ModelCard()

    async def model_metadata(self, model_id: str) -> ModelMetadata:
        """Return the server's metadata of a model, with the window that is requested.

        Raises:
            ProviderError: The server could not be queried.
        """
        return (await self._card(model_id, self._transport)).metadata

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport, model_id = await self._transport_for(request), request.spec.model_id
        card = await self._card(model_id, transport)
        if request.tools and not card.can("tools"):
            raise RequestRejected(_no_tools(model_id))
        body = encode(request, card, self._environment.get("OLLAMA_KEEP_ALIVE", "").strip())
        return deltas(transport, CHAT, body, LineReplyDecoder(transport.endpoint, request.tools), LineDecoder())

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        model_id, message = request.spec.model_id, str(error)
        card = self._cards[model_id]
        if "does not support thinking" in message and card.can("thinking"):
            self._cards[model_id] = card.without("thinking")
            return True
        if "does not support tools" in message:
            raise RequestRejected(_no_tools(model_id), status=error.status) from error
        return False

    async def _with_suggestions(self, request: Request, error: ModelNotFound) -> ModelNotFound:
        suggestion = await super()._with_suggestions(request, error)
        hint = f"to download it: ollama pull {request.spec.model_id}"
        return ModelNotFound(f"{suggestion}; {hint}", status=error.status)

    async def _card(self, model_id: str, transport: Transport) -> ModelCard:
        """Return the card of a model; requested once, since a change of the window would reload the model."""
        if model_id not in self._cards:
            card = await _shown(model_id, transport)
            configured = self._environment.get("OLLAMA_CONTEXT_LENGTH", "").strip()
            wanted = int(configured) if configured.isdecimal() else None
            asking = card.with_window(wanted or None, await _loaded_window(model_id, transport))
            # Another request may have stored it meanwhile.
            return self._cards.setdefault(model_id, asking)
        return self._cards[model_id]


async def _shown(model_id: str, transport: Transport) -> ModelCard:
    try:
        card = card_of(await transport.call(SHOW, {"model": model_id}))
    except (RequestRejected, StreamError):
        # A compatible server with only the chat endpoint.
        card = ModelCard()
    in_cloud = urlsplit(transport.endpoint.base_url).hostname == "ollama.com" or model_id.endswith(CLOUD_NAMES)
    return replace(card, is_remote=card.is_remote or in_cloud)


async def _loaded_window(model_id: str, transport: Transport) -> int | None:
    try:
        loaded = await transport.get(LOADED)
    except ProviderError:
        return None
    return metadata_of_model(loaded, model_id, f"{model_id}:latest").context_window


def _no_tools(model_id: str) -> str:
    return f"Ollama: {model_id} does not support tools; models that do: https://ollama.com/search?c=tools"
