"""Provider for OpenAI's Responses API and compatible servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Set

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Request
from providers.endpoint import Endpoint
from providers.http_provider import ANY_MODEL, HttpProvider, lists_of
from providers.net.stream import deltas
from providers.openai_chat.models import reasons
from providers.openai_responses.decode import ResponseDecoder
from providers.openai_responses.encode import ENCRYPTED, FORMAT, encode
from providers.preset import CacheRule
from providers.wire.hosted_search import REJECTED_SEARCH, SEARCH

# Fields that servers reject, by a pattern in the error.
REJECTABLE = (
    ("encrypted", ENCRYPTED),
    ("prompt_cache_retention", "prompt_cache_retention"),
    ("prompt_cache_options", "prompt_cache_options"),
    ("prompt_cache_key", "prompt_cache_key"),
    ("include", "include"),
    ("reasoning", "reasoning"),
    (r"text\.format|schema", FORMAT),
    ("temperature", "temperature"),
)
SEARCHING = ((REJECTED_SEARCH, SEARCH),)


class ResponsesProvider(HttpProvider):
    """Streams replies of one server.

    If a server rejects an optional field, it is left out from then on.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        endpoint = endpoint.without_path("/responses")
        super().__init__(endpoint, lists=lists_of(endpoint))
        # Caching fields are only sent to the vendor's own service.
        self._caching = endpoint.preset.cache if endpoint.is_vendors_own else CacheRule()

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        return reasons(spec.model_id)

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport = await self._transport_for(request)
        rejected = self._rejected.of(ANY_MODEL) | self._rejected.of(request.spec.model_id)
        body = encode(request, rejected, self._caching)
        return deltas(transport, "/responses", body, ResponseDecoder(transport.endpoint))

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        model_id = request.spec.model_id
        if error.status not in (400, 422):
            return False
        if any(tool.hosting for tool in request.tools) and self._rejected.learn(model_id, error, SEARCHING):
            return True
        return self._rejected.learn(ANY_MODEL, error, REJECTABLE)
