"""Provider for OpenAI's Responses API and compatible servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.messages import ModelSpec
from harness.ports.provider import Provider, Request
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, better_named, lists_of, with_degradation
from providers.net.stream import deltas
from providers.net.transport import Transport, json_headers
from providers.openai_chat.models import reasons
from providers.openai_responses.decode import ResponseDecoder
from providers.openai_responses.encode import ENCRYPTED, FORMAT, encode
from providers.preset import CacheRule

# Fields that servers reject, by a word in the error.
REJECTABLE = (
    ("encrypted", ENCRYPTED),
    ("prompt_cache_retention", "prompt_cache_retention"),
    ("prompt_cache_options", "prompt_cache_options"),
    ("prompt_cache_key", "prompt_cache_key"),
    ("include", "include"),
    ("reasoning", "reasoning"),
    ("text.format", FORMAT),
    ("schema", FORMAT),
    ("temperature", "temperature"),
)


class ResponsesProvider(HttpProvider):
    """Streams replies of one server.

    If a server rejects an optional field, it is left out from then on.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        base_url = endpoint.base_url.removesuffix("/responses")
        transport = Transport(replace(endpoint, base_url=base_url), json_headers(endpoint))
        super().__init__(transport, *lists_of(transport.endpoint))
        self._without: set[str] = set()
        # Caching fields are only sent to the vendor's own service.
        self._caching = endpoint.preset.cache if endpoint.is_vendors_own else CacheRule()

    def supports_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        del with_tools
        return reasons(spec.model_id)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport = self._transport.for_key(request.api_key, json_headers)
        suggest = partial(better_named, transport=transport, path="/models", model_id=request.spec.model_id)
        return with_degradation(partial(self._ask, request, transport), self._adapts, suggest)

    def _ask(self, request: Request, transport: Transport) -> AsyncGenerator[Delta]:
        body = encode(request, self._without, self._caching)
        return deltas(transport, "/responses", body, ResponseDecoder(transport.endpoint))

    def _adapts(self, error: RequestRejected) -> bool:
        """Return True if there is an optional field that the error is about."""
        if error.status not in (400, 422):
            return False
        message = str(error).lower()
        field = next((field for word, field in REJECTABLE if word in message and field not in self._without), None)
        if field is None:
            return False
        self._without.add(field)
        return True


if TYPE_CHECKING:
    _: type[Provider] = ResponsesProvider
