"""Provider for Anthropic's Messages API and compatible servers."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import RequestRejected
from harness.ports.provider import Provider, Request
from providers.anthropic.decode import MessageDecoder
from providers.anthropic.encode import encode
from providers.anthropic.thinking import ThinkingForm, thinking_form
from providers.endpoint import Endpoint
from providers.http_provider import HttpProvider, add_new, better_named, with_degradation
from providers.net.stream import deltas
from providers.net.transport import Transport
from providers.wire.caching import AcceptedMarks
from providers.wire.turns import ids_with_thinking

API_VERSION = "2023-06-01"
MODELS = "/v1/models?limit=1000"
# A thinking model continues a turn whose tool calls another model made.
MISSING_THINKING = r"expected .{0,3}thinking"
REFUSED_THINKING = r"thinking.*(signature|different conversation)|signature.*thinking"
# Also for schemas that are too large or have too many optional properties.
REFUSED_SCHEMA = r"output_config\.format|schema"
REFUSED_FORM = r"thinking\.type|output_config|effort|adaptive thinking"


class AnthropicProvider(HttpProvider):
    """Streams replies of Claude models.

    Some rejected requests are sent again with less, since they could never succeed: without thinking that the service
    no
    longer accepts (the conversation before it changed) or misses, without unsupported thinking parameters, with the
    output
    schema in the prompt, or without cache breakpoints that a compatible server does not support.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        base_url = endpoint.base_url.removesuffix("/v1")
        super().__init__(Transport(replace(endpoint, base_url=base_url), _headers(endpoint)), MODELS)
        self._unreadable: set[str] = set()
        self._without_form: set[str] = set()
        self._without_schema: set[str] = set()
        self._marks = AcceptedMarks()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport, form = self._transport.for_key(request.api_key, _headers), self._form(request)

        def adapts(error: RequestRejected) -> bool:
            nonlocal form
            fallback = self._fallback(request, form, str(error).lower())
            form = fallback or form
            return fallback is not None

        suggest = partial(better_named, transport=transport, path=MODELS, model_id=request.spec.model_id)
        async with aclosing(with_degradation(lambda: self._ask(request, transport, form), adapts, suggest)) as answer:
            async for delta in answer:
                yield delta

    def _ask(self, request: Request, transport: Transport, form: ThinkingForm) -> AsyncGenerator[Delta]:
        enforces = request.spec.model_id not in self._without_schema
        marked = replace(request, cache=self._marks.apply(request.cache))
        body = encode(marked, form, self._unreadable, enforces_schema=enforces)
        return deltas(transport, "/v1/messages", body, MessageDecoder(transport.endpoint))

    def _form(self, request: Request) -> ThinkingForm:
        return ThinkingForm() if request.spec.model_id in self._without_form else thinking_form(request.spec)

    def _fallback(self, request: Request, form: ThinkingForm, refusal: str) -> ThinkingForm | None:
        """Return the thinking parameters for another attempt; None if it would not help."""
        model = {request.spec.model_id}
        if request.output_schema and re.search(REFUSED_SCHEMA, refusal) and add_new(self._without_schema, model):
            return form
        if self._marks.learn(request.cache, refusal):
            return form
        return self._fallback_form(request, form, refusal)

    def _fallback_form(self, request: Request, form: ThinkingForm, refusal: str) -> ThinkingForm | None:
        if re.search(MISSING_THINKING, refusal):
            return ThinkingForm() if form.thinking else None
        if re.search(REFUSED_THINKING, refusal):
            ids = ids_with_thinking(request.messages)
            return form if add_new(self._unreadable, ids) else None
        if re.search(REFUSED_FORM, refusal) and add_new(self._without_form, {request.spec.model_id}):
            return ThinkingForm()
        return None


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION, "content-type": "application/json"}
    if endpoint.secret is None:
        return headers
    if endpoint.sends_bearer:
        return headers | endpoint.bearer_header
    return headers | {"x-api-key": endpoint.secret.value}


if TYPE_CHECKING:
    _: type[Provider] = AnthropicProvider
