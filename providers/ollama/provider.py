"""The provider for Ollama, on this machine, on another, or in its cloud."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.deltas import Delta
from harness.errors import ModelNotFound, ProviderError, RequestRejected, StreamError
from harness.ports.provider import Provider, Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider
from providers.model_catalog.listing import window_in
from providers.model_catalog.metadata import ListedModel, ModelMetadata, ServerMetadataSource
from providers.model_catalog.models import better_named, model_names
from providers.net.degradation import with_degradation
from providers.net.ndjson import LineDecoder
from providers.net.stream import deltas
from providers.net.transport import Transport
from providers.ollama.decode import LineReplyDecoder
from providers.ollama.encode import encode
from providers.ollama.model_card import ModelCard, card_of

CHAT, SHOW, LIST, LOADED = "/api/chat", "/api/show", "/api/tags", "/api/ps"
CLOUD_NAMES = (":cloud", "-cloud")
AT_ONCE = 8


class OllamaProvider(HttpProvider):
    """Streams replies of one server, which is asked about each model once, before its first request.

    What the server's own variables say of windows and of keeping models loaded is honoured when it is set here.
    """

    def __init__(self, endpoint: Endpoint, environment: Mapping[str, str] | None = None) -> None:
        base_url = endpoint.base_url.removesuffix(CHAT).removesuffix("/api").removesuffix("/v1")
        super().__init__(Transport(dataclasses.replace(endpoint, base_url=base_url), _headers(endpoint)), LIST)
        self._environment = os.environ if environment is None else environment
        self._cards: dict[str, ModelCard] = {}

    async def models(self) -> list[str]:
        return await model_names(self._transport, LIST)

    async def listed(self) -> list[ListedModel]:
        """The models that were pulled and can be talked to; each is asked about."""
        pulled = await super().listed()
        at_once = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            shown = [group.create_task(self._told(model.id, at_once)) for model in pulled]
        cards = [(model, task.result()) for model, task in zip(pulled, shown, strict=True)]
        return [dataclasses.replace(model, metadata=card.metadata) for model, card in cards if card.can("completion")]

    async def _told(self, model_id: str, at_once: asyncio.Semaphore) -> ModelCard:
        """The card of a model in a list, where one that cannot be shown is no reason to show none."""
        try:
            async with at_once:
                return await self._card(model_id, self._transport)
        except ProviderError:
            return ModelCard()

    async def model_metadata(self, model_id: str) -> ModelMetadata:
        """What the server tells of a model; the window is the one that is asked for with each request, or its own.

        Raises:
            ProviderError: the server could not be asked.
        """
        return (await self._card(model_id, self._transport)).metadata

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport, model_id = self._transport.for_key(request.api_key, _headers), request.spec.model_id
        named = partial(_told_how_to_pull, transport=transport, model_id=model_id)
        return with_degradation(partial(self._ask, request, transport), partial(self._mends, model_id), named)

    async def _ask(self, request: Request, transport: Transport) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        card = await self._card(model_id, transport)
        if request.tools and not card.can("tools"):
            raise RequestRejected(_no_tools(model_id))
        body = encode(request, card, self._environment.get("OLLAMA_KEEP_ALIVE", "").strip())
        decoder = LineReplyDecoder(transport.endpoint, request.tools)
        async with aclosing(deltas(transport, CHAT, body, decoder, LineDecoder())) as answer:
            async for delta in answer:
                yield delta

    def _mends(self, model_id: str, error: RequestRejected) -> bool:
        """Whether the next request will be without an ability that the server just denied."""
        words, card = str(error), self._cards[model_id]
        if "does not support thinking" in words and card.can("thinking"):
            self._cards[model_id] = card.without("thinking")
            return True
        if "does not support tools" in words:
            raise RequestRejected(_no_tools(model_id), status=error.status) from error
        return False

    async def _card(self, model_id: str, transport: Transport) -> ModelCard:
        """What is known of a model; asked once, so that its window stays the same: another one loads it anew."""
        if model_id not in self._cards:
            card = await _shown(model_id, transport)
            asking = card.with_window(self._wanted_window, await _loaded_window(model_id, transport))
            # Another request may have asked at the same time.
            return self._cards.setdefault(model_id, asking)
        return self._cards[model_id]

    @property
    def _wanted_window(self) -> int | None:
        written = self._environment.get("OLLAMA_CONTEXT_LENGTH", "").strip()
        return int(written) or None if written.isdecimal() else None


async def _shown(model_id: str, transport: Transport) -> ModelCard:
    try:
        card = card_of(await transport.call(SHOW, {"model": model_id}))
    except (RequestRejected, StreamError):
        # Something that speaks like Ollama and knows only its chat.
        card = ModelCard()
    in_cloud = urlsplit(transport.endpoint.base_url).hostname == "ollama.com" or model_id.endswith(CLOUD_NAMES)
    return dataclasses.replace(card, is_remote=card.is_remote or in_cloud)


async def _loaded_window(model_id: str, transport: Transport) -> int | None:
    try:
        loaded = await transport.get(LOADED)
    except ProviderError:
        return None
    return window_in(loaded, model_id) or window_in(loaded, f"{model_id}:latest")


def _no_tools(model_id: str) -> str:
    return f"Ollama: {model_id} cannot use tools; take a model that can: https://ollama.com/search?c=tools"


async def _told_how_to_pull(error: ModelNotFound, transport: Transport, model_id: str) -> ModelNotFound:
    named = await better_named(error, transport, LIST, model_id)
    return ModelNotFound(f"{named}; to fetch it: ollama pull {model_id}", status=error.status)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    return {"content-type": "application/json", **endpoint.bearer_header}


if TYPE_CHECKING:
    _: type[Provider] = OllamaProvider
    _source: type[ServerMetadataSource] = OllamaProvider
