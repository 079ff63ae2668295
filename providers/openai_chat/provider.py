"""Provider for OpenAI's Chat Completions and compatible servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Set

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ProviderError, RequestRejected
from harness.messages import JsonValue, ModelSpec
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.http_provider import ANY_MODEL, HttpProvider, lists_of
from providers.model_catalog.listing import metadata_in, metadata_of_model
from providers.model_catalog.metadata import ListedModel, ModelMetadata, ServerMetadataSource
from providers.net.stream import deltas
from providers.net.transport import Transport, json_headers
from providers.openai_chat.decode import ChatDecoder
from providers.openai_chat.dialect import dialect_of
from providers.openai_chat.encode import encode, marking
from providers.wire.caching import accepted_marks, cache_headers, rejectable_marks


class ChatProvider(HttpProvider, ServerMetadataSource):
    """Streams replies of one server.

    If a server rejects a part of the dialect, the part is left out from then on.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        endpoint = endpoint.without_path("/chat/completions")
        super().__init__(endpoint, lists=lists_of(endpoint))
        self._dialect = dialect_of(endpoint)

    async def listed(self) -> list[ListedModel]:
        found = await super().listed()
        if not self.endpoint.preset.window_path or any(model.metadata.context_window for model in found):
            return found
        try:
            properties = await self._server_properties()
        except ProviderError:
            return found
        # It serves one model and describes itself instead of the model.
        known = metadata_in(properties) if isinstance(properties, dict) else ModelMetadata()
        return [replace(model, metadata=model.metadata.completed_by(known)) for model in found]

    async def model_metadata(self, model_id: str) -> ModelMetadata:
        """Return a local server's metadata of a model.

        Raises:
            ProviderError: The server could not be queried.
        """
        return metadata_of_model(await self._server_properties(), model_id)

    async def _server_properties(self) -> JsonValue:
        base_url = self.endpoint.base_url.removesuffix("/v1")
        return await self._transport.get(base_url + self.endpoint.preset.window_path)

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return self._dialect.supports_thinking(spec, with_tools=with_tools)

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport = await self._transport_for(request)
        marked = replace(request, cache=accepted_marks(request.cache, self._rejected.of(ANY_MODEL)))
        is_marked = self._dialect.preset.cache.wants_marks(request.spec.model_id)
        keeps = is_marked and marking(marked, self._dialect).lifetime == "1h"
        decoder = ChatDecoder(transport.endpoint, request.tools, keeps_an_hour=keeps)
        return deltas(transport, "/chat/completions", encode(marked, self._dialect), decoder)

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        if error.status not in (400, 422):
            return False
        marks = rejectable_marks(request.cache, self._rejected.of(ANY_MODEL))
        is_marked = self._dialect.preset.cache.wants_marks(request.spec.model_id)
        if is_marked and self._rejected.learn(ANY_MODEL, error, marks):
            return True
        adapted = self._dialect.adapted_to(str(error))
        self._dialect = adapted or self._dialect
        return adapted is not None

    async def _transport_for(self, request: Request | None) -> Transport:
        transport = await super()._transport_for(request)
        routing = cache_headers(self._dialect.preset.cache, request) if request else {}
        if not routing:
            return transport
        return transport.with_credentials(transport.endpoint, json_headers(transport.endpoint) | routing)
