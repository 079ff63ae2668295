"""Provider for the Gemini API, at Google and in Google Cloud."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Provider, Request
from providers.endpoint import Endpoint
from providers.gemini.backend import Backend, GeminiApiBackend, Route, VertexBackend, key_header
from providers.gemini.decode import ContentDecoder
from providers.gemini.encode import FORMAT, TEMPERATURE, THINKING, UNSIGNED, encode
from providers.gemini.models import thinking_config
from providers.http_provider import HttpProvider, better_named, listed_models, with_degradation
from providers.model_catalog.metadata import ListedModel
from providers.net.stream import deltas
from providers.net.transport import Transport

# Features that models reject, by the text of their error.
REJECTABLE = (
    ("thought_signature", UNSIGNED),
    ("thought signature", UNSIGNED),
    ("thinking", THINKING),
    ("temperature", TEMPERATURE),
)
REJECTED_SCHEMA = ("response_json_schema", "responsejsonschema", "response mime type", "response_mime_type", "schema")


class GeminiProvider(HttpProvider):
    """Streams replies of one backend's models.

    If a model rejects an optional part of a request, the part is left out from then on.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        super().__init__(Transport(backend.endpoint, key_header(backend.endpoint)))
        self._without: dict[str, set[str]] = {}

    async def listed(self) -> list[ListedModel]:
        route = await self._backend.route(None)
        return await listed_models(self._transport_for(route), self._backend.listing(route))

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        del with_tools
        return bool(thinking_config(spec))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        route, model_id = await self._backend.route(request.api_key), request.spec.model_id
        suggest = partial(
            better_named, transport=self._transport_for(route), path=self._backend.listing(route), model_id=model_id
        )
        ask, adapts = partial(self._ask, request, route), partial(self._adapts, request)
        async with aclosing(with_degradation(ask, adapts, suggest)) as answer:
            async for delta in answer:
                yield delta

    def _ask(self, request: Request, route: Route) -> AsyncGenerator[Delta]:
        model_id = request.spec.model_id
        body = encode(request, self._without.get(model_id, ()))
        path = route.to_model(self._backend.model_name(model_id))
        return deltas(self._transport_for(route), path, body, ContentDecoder(route.endpoint))

    def _transport_for(self, route: Route) -> Transport:
        return self._transport.with_credentials(route.endpoint, route.headers)

    def _adapts(self, request: Request, error: RequestRejected) -> bool:
        """Return True if the next request will leave out what this one was rejected for."""
        refusal = str(error).lower()
        without = self._without.setdefault(request.spec.model_id, set())
        refused = next((part for word, part in REJECTABLE if word in refusal), None)
        if refused is None and request.output_schema and any(word in refusal for word in REJECTED_SCHEMA):
            refused = FORMAT
        if refused is None or refused in without:
            return False
        without.add(refused)
        return True


def open_gemini(endpoint: Endpoint) -> GeminiProvider:
    return GeminiProvider(GeminiApiBackend(endpoint))


def open_vertex(endpoint: Endpoint) -> GeminiProvider:
    return GeminiProvider(VertexBackend(endpoint))


if TYPE_CHECKING:
    _: type[Provider] = GeminiProvider
