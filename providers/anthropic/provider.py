"""Provider for Anthropic's Messages API and compatible servers."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Set

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.ports.provider import Request
from providers.anthropic.decode import MessageDecoder
from providers.anthropic.encode import SCHEMA, encode
from providers.anthropic.thinking import MISSING_THINKING, ThinkingForm, thinking_form
from providers.endpoint import Endpoint
from providers.http_provider import ANY_MODEL, HttpProvider, add_new
from providers.net.stream import deltas
from providers.wire.caching import accepted_marks, rejectable_marks
from providers.wire.hosted_search import REJECTED_SEARCH, SEARCH
from providers.wire.turns import ids_with_thinking

API_VERSION = "2023-06-01"
MODELS = "/v1/models?limit=1000"
THINKING = "thinking"
"""Thinking, where a model or a compatible server does not support it; `encode` has more such features."""
REFUSED_THINKING = r"thinking.*(signature|different conversation)|signature.*thinking"
# Also for schemas that are too large or have too many optional properties.
REFUSED_SCHEMA = r"output_config\.format|schema"
SEARCHING = ((REJECTED_SEARCH, SEARCH),)
REFUSED_FORM = r"thinking\.type|output_config|effort|adaptive thinking"


class AnthropicProvider(HttpProvider):
    """Streams replies of Claude models.

    Some rejected requests are sent again with less, since they could never succeed: without thinking that the service
    no longer accepts (the conversation before it changed) or misses, without unsupported thinking parameters, with the
    output schema in the prompt, or without cache breakpoints that a compatible server does not support.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint.without_path("/v1"), _headers, (MODELS,))

    async def _send(self, request: Request, without: Set[str]) -> AsyncGenerator[Delta]:
        transport = await self._transport_for(request)
        marked = replace(request, cache=accepted_marks(request.cache, self._rejected.of(ANY_MODEL)))
        body = encode(marked, self._form(request, without), self._unreadable, self._rejected.of(request.spec.model_id))
        return deltas(transport, "/v1/messages", body, MessageDecoder(transport.endpoint))

    def _form(self, request: Request, without: Set[str]) -> ThinkingForm:
        is_rejected = THINKING in without | self._rejected.of(request.spec.model_id)
        return ThinkingForm() if is_rejected else thinking_form(request.spec)

    def _adapts(self, request: Request, without: set[str], error: RequestRejected) -> bool:
        model_id, text = request.spec.model_id, str(error).lower()
        if request.output_schema and self._rejected.learn(model_id, error, ((REFUSED_SCHEMA, SCHEMA),)):
            return True
        if any(tool.hosting for tool in request.tools) and self._rejected.learn(model_id, error, SEARCHING):
            return True
        marks = rejectable_marks(request.cache, self._rejected.of(ANY_MODEL))
        if self._rejected.learn(ANY_MODEL, error, marks):
            return True
        if re.search(MISSING_THINKING, text):
            return self._form(request, without).thinking is not None and add_new(without, {THINKING})
        if re.search(REFUSED_THINKING, text):
            return add_new(self._unreadable, ids_with_thinking(request.messages))
        return self._rejected.learn(model_id, error, ((REFUSED_FORM, THINKING),))


def _headers(endpoint: Endpoint) -> dict[str, str]:
    secret = endpoint.secret
    key = {"x-api-key": secret.value} if secret and not endpoint.sends_bearer else endpoint.bearer_header
    return {"anthropic-version": API_VERSION, "content-type": "application/json", **key}
