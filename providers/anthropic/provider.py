"""The provider for Anthropic's Messages API and servers that speak it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from harness.errors import ModelNotFound, RequestRejected
from harness.messages import AssistantMessage, Thinking
from harness.provider import Delta, Provider, Request
from providers.anthropic.decode import MessageDecoder
from providers.anthropic.encode import encode
from providers.anthropic.thinking import ThinkingForm, thinking_form
from providers.endpoint import Endpoint
from providers.models import better_named, model_names
from providers.stream import deltas
from providers.transport import Transport

API_VERSION = "2023-06-01"
REFUSED_THINKING = re.compile(
    r"thinking.*(signature|different conversation)|signature.*thinking|expected .{0,3}thinking", re.I
)
REFUSED_FORM = re.compile(r"thinking\.type|output_config|effort|adaptive thinking", re.I)


class AnthropicProvider:
    """Streams replies of Claude models.

    Two refusals are mended by asking once more with less, since the same request could never succeed: thinking that the
    service no longer accepts back (the conversation before it was changed), and a form of thinking the model has not.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.preset.name
        base_url = endpoint.base_url.removesuffix("/v1")
        self._transport = Transport(dataclasses.replace(endpoint, base_url=base_url), _headers(endpoint))
        self._unreadable: set[str] = set()
        self._without_form: set[str] = set()

    def warm(self) -> None:
        """Prepare for the first request; for a thread, after the first paint."""
        self._transport.warm()

    async def close(self) -> None:
        await self._transport.close()

    async def models(self) -> list[str]:
        return await model_names(self._transport, "/v1/models?limit=1000")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        try:
            async for delta in self._ask(request):
                yield delta
        except RequestRejected as error:
            if not self._can_mend(request, str(error)):
                raise
            async for delta in self._ask(request):
                yield delta
        except ModelNotFound as error:
            raise await better_named(error, self._transport, "/v1/models?limit=1000", request.spec.model_id) from error

    def _ask(self, request: Request) -> AsyncIterator[Delta]:
        spec = request.spec
        form = ThinkingForm() if spec.model_id in self._without_form else thinking_form(spec)
        body = encode(request, form, self._unreadable)
        return deltas(self._transport, "/v1/messages", body, MessageDecoder(self._transport.endpoint))

    def _can_mend(self, request: Request, refusal: str) -> bool:
        if REFUSED_THINKING.search(refusal):
            told = {message.id for message in request.messages if _has_thinking(message)}
            is_new = bool(told - self._unreadable)
            self._unreadable |= told
            return is_new
        if REFUSED_FORM.search(refusal) and request.spec.model_id not in self._without_form:
            self._without_form.add(request.spec.model_id)
            return True
        return False


def _has_thinking(message: object) -> bool:
    return isinstance(message, AssistantMessage) and any(isinstance(block, Thinking) for block in message.content)


def _headers(endpoint: Endpoint) -> dict[str, str]:
    headers = {"anthropic-version": API_VERSION, "content-type": "application/json", "accept": "text/event-stream"}
    if endpoint.secret is None:
        return headers
    if endpoint.sends_bearer:
        return headers | endpoint.bearer_header
    return headers | {"x-api-key": endpoint.secret.value}


if TYPE_CHECKING:
    _: type[Provider] = AnthropicProvider
