"""The provider for Anthropic's Messages API and servers that speak it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from harness.errors import ModelNotFound, RequestRejected
from harness.messages import AssistantMessage, Thinking
from harness.provider import Delta, Provider, Request
from providers.anthropic.decode import MessageDecoder
from providers.anthropic.encode import encode
from providers.anthropic.thinking import ThinkingForm, thinking_form
from providers.endpoint import Endpoint
from providers.known import Listed
from providers.models import better_named, listed_models
from providers.stream import deltas
from providers.transport import Transport

API_VERSION = "2023-06-01"
MODELS = "/v1/models?limit=1000"
# A turn with calls that another model began, taken up by one that thinks.
MISSING_THINKING = r"expected .{0,3}thinking"
REFUSED_THINKING = r"thinking.*(signature|different conversation)|signature.*thinking"
# Also one that is too large for it, or has too many properties that may be missing.
REFUSED_SCHEMA = r"output_config\.format|schema"
REFUSED_FORM = r"thinking\.type|output_config|effort|adaptive thinking"


class AnthropicProvider:
    """Streams replies of Claude models.

    Refusals that concern thinking are mended by asking once more with less, since the same request could never succeed:
    the service no longer takes a thought back (the conversation before it was changed), misses one, or the model does
    not know the form in which it is told to think. So is the refusal of a schema, which the model is then told of.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.preset.name
        base_url = endpoint.base_url.removesuffix("/v1")
        self._transport = Transport(dataclasses.replace(endpoint, base_url=base_url), _headers(endpoint))
        self._unreadable: set[str] = set()
        self._without_form: set[str] = set()
        self._without_schema: set[str] = set()

    def warm(self) -> None:
        """Prepare for the first request; for a thread, after the first paint."""
        self._transport.warm()

    async def close(self) -> None:
        await self._transport.close()

    async def models(self) -> list[str]:
        return [model.id for model in await self.listed()]

    async def listed(self) -> list[Listed]:
        return await listed_models(self._transport, MODELS)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        transport = self._transport_for(request)
        try:
            async with aclosing(self._ask(request, transport, self._form(request))) as answer:
                async for delta in answer:
                    yield delta
        except RequestRejected as error:
            form = self._mended_form(request, str(error))
            if form is None:
                raise
            async with aclosing(self._ask(request, transport, form)) as answer:
                async for delta in answer:
                    yield delta
        except ModelNotFound as error:
            raise await better_named(error, transport, MODELS, request.spec.model_id) from error

    def _ask(self, request: Request, transport: Transport, form: ThinkingForm) -> AsyncGenerator[Delta]:
        holds = request.spec.model_id not in self._without_schema
        body = encode(request, form, self._unreadable, holds_to_schema=holds)
        return deltas(transport, "/v1/messages", body, MessageDecoder(transport.endpoint))

    def _transport_for(self, request: Request) -> Transport:
        if request.api_key is None:
            return self._transport
        endpoint = self._transport.endpoint.with_key(request.api_key)
        return self._transport.speaking_for(endpoint, _headers(endpoint))

    def _form(self, request: Request) -> ThinkingForm:
        return ThinkingForm() if request.spec.model_id in self._without_form else thinking_form(request.spec)

    def _mended_form(self, request: Request, refusal: str) -> ThinkingForm | None:
        """How to ask again; None if that would not help."""
        words, model_id = refusal.lower(), request.spec.model_id
        if request.answer_schema and model_id not in self._without_schema and re.search(REFUSED_SCHEMA, words):
            self._without_schema.add(model_id)
            return self._form(request)
        if re.search(MISSING_THINKING, words):
            return ThinkingForm()
        if re.search(REFUSED_THINKING, words):
            told = {message.id for message in request.messages if _has_thinking(message)}
            is_new = bool(told - self._unreadable)
            self._unreadable |= told
            return self._form(request) if is_new else None
        if re.search(REFUSED_FORM, words) and model_id not in self._without_form:
            self._without_form.add(model_id)
            return ThinkingForm()
        return None


def _has_thinking(message: object) -> bool:
    return isinstance(message, AssistantMessage) and any(isinstance(block, Thinking) for block in message.content)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION, "content-type": "application/json"}
    if endpoint.secret is None:
        return headers
    if endpoint.sends_bearer:
        return headers | endpoint.bearer_header
    return headers | {"x-api-key": endpoint.secret.value}


if TYPE_CHECKING:
    _: type[Provider] = AnthropicProvider
