"""The provider for the Gemini API, at Google and in Google Cloud."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Provider, Request
from providers.gemini.backend import Backend, Route, key_header
from providers.gemini.decode import ContentDecoder
from providers.gemini.encode import FORMAT, TEMPERATURE, THINKING, UNSIGNED, encode
from providers.gemini.models import thinking_config
from providers.http_provider import HttpProvider
from providers.model_catalog.metadata import ListedModel
from providers.model_catalog.models import better_named, listed_models
from providers.net.degradation import with_degradation
from providers.net.stream import deltas
from providers.net.transport import Transport

# What models refuse, by words of their refusal, and what it is about.
REFUSABLE = (
    ("thought_signature", UNSIGNED),
    ("thought signature", UNSIGNED),
    ("thinking", THINKING),
    ("temperature", TEMPERATURE),
)
REFUSED_FORMS = ("response_json_schema", "responsejsonschema", "response mime type", "response_mime_type", "schema")


class GeminiProvider(HttpProvider):
    """Streams replies of one site's models.

    A model that refuses a part of the request that is not needed is asked once more without it, and from then on.
    """

    def __init__(self, site: Backend) -> None:
        self._site = site
        super().__init__(Transport(site.endpoint, key_header(site.endpoint)))
        self._without: dict[str, set[str]] = {}

    async def listed(self) -> list[ListedModel]:
        way = await self._site.route(None)
        return await listed_models(self._on(way), self._site.listing(way))

    def heeds_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        del with_tools
        return bool(thinking_config(spec))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        way, model_id = await self._site.route(request.api_key), request.spec.model_id
        named = partial(better_named, transport=self._on(way), path=self._site.listing(way), model_id=model_id)
        ask, mends = partial(self._ask, request, way), partial(self._mends, request)
        async with aclosing(with_degradation(ask, mends, named)) as answer:
            async for delta in answer:
                yield delta

    def _ask(self, request: Request, way: Route) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        body = encode(request, self._without.get(model_id, ()))
        path = way.to_model(self._site.model_name(model_id))
        return deltas(self._on(way), path, body, ContentDecoder(way.endpoint))

    def _on(self, way: Route) -> Transport:
        return self._transport.with_credentials(way.endpoint, way.headers)

    def _mends(self, request: Request, error: RequestRejected) -> bool:
        """Whether the next request will be without what this one was refused for."""
        refusal = str(error).lower()
        without = self._without.setdefault(request.spec.model_id, set())
        refused = next((part for word, part in REFUSABLE if word in refusal), None)
        if refused is None and request.output_schema and any(word in refusal for word in REFUSED_FORMS):
            refused = FORMAT
        if refused is None or refused in without:
            return False
        without.add(refused)
        return True


if TYPE_CHECKING:
    _: type[Provider] = GeminiProvider
