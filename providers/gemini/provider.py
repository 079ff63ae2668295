"""Provider for the Gemini API, at Google and in Google Cloud."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Set

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.gemini.backend import Backend, GeminiApiBackend, Route, VertexBackend, key_header
from providers.gemini.decode import ContentDecoder
from providers.gemini.encode import FORMAT, TEMPERATURE, THINKING, UNSIGNED, encode
from providers.gemini.models import thinking_config
from providers.http_provider import HttpProvider, RejectedFeatures
from providers.net.stream import deltas
from providers.net.transport import Transport

# Features that models reject, by the text of their error.
REJECTABLE = (("thought[_ ]signature", UNSIGNED), ("thinking", THINKING), ("temperature", TEMPERATURE))
REJECTED_SCHEMA = "response[_ ]mime[_ ]type|schema"


class GeminiProvider(HttpProvider):
    """Streams replies of one backend's models.

    If a model rejects an optional part of a request, the part is left out from then on.
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.endpoint, key_header, (backend.list_path,))
        self._backend = backend
        self._rejected = RejectedFeatures()

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return bool(thinking_config(spec))

    async def _transport_for(self, request: Request | None) -> Transport:
        return self._transport_on(await self._backend.route(request and request.api_key))

    def _transport_on(self, route: Route) -> Transport:
        return self._transport.with_credentials(route.endpoint, route.headers)

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        route, model_id = await self._backend.route(request.api_key), request.spec.model_id
        body = encode(request, self._rejected.of(model_id))
        path = route.to_model(self._backend.model_name(model_id))
        return deltas(self._transport_on(route), path, body, ContentDecoder(route.endpoint))

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        schema = ((REJECTED_SCHEMA, FORMAT),) if request.output_schema else ()
        return self._rejected.learn(request.spec.model_id, error, (*REJECTABLE, *schema))


def open_gemini(endpoint: Endpoint) -> GeminiProvider:
    return GeminiProvider(GeminiApiBackend(endpoint))


def open_vertex(endpoint: Endpoint) -> GeminiProvider:
    return GeminiProvider(VertexBackend(endpoint))
