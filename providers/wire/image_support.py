"""Models that see no images: a word stands in place of each, and the person is told."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.deltas import Delta
from harness.errors import ModelNotFound, NetworkError, ProviderError, RequestRejected
from harness.messages import AssistantMessage, Image, ModelMessage, ModelSpec, Text, UserContent
from harness.ports.provider import ModelInfoSource, Provider, Request, ThinkingAware
from providers.endpoint import Endpoint
from providers.service import Service

# What services say of a model that takes no images, and not of an image that it cannot take.
NO_IMAGE_SUPPORT = (
    r"(not|n't) (currently )?(support|accept|take)(ing)? (for )?(the |any )?"
    r"(image|vision|visual|multi-?modal)(s|_url)?\b(?!.{0,12}(format|type|size|dimension|urls?\b|/))"
    r"|\bimage(_url|s)?\W{0,3}( content| inputs?| understanding)?\W{0,2}( is| are)? (not|only) (supported|enabled)"
    r"|no endpoints found that support image|image (input )?modality is not enabled"
    r"|unknown variant \W{0,2}(image|input_image)|allowed values: \['text'\]|content\W{0,2} must be a string"
    r"|not a (multi-?modal|vision) model|at most 0 image|text-only model|only supports? text|data required for image"
)


def without_images(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The messages with words where images were, also in the results of tools."""
    return tuple(_in_words(message) if has_images((message,)) else message for message in messages)


def has_images(messages: Sequence[ModelMessage]) -> bool:
    return any(
        isinstance(block, Image)
        for message in messages
        if not isinstance(message, AssistantMessage)
        for block in message.content
    )


def rejects_images(error: ProviderError) -> bool:
    """Whether a refusal is about images as such; some servers fail over them instead of refusing."""
    is_refusal = isinstance(error, RequestRejected | ModelNotFound | NetworkError) and error.status is not None
    return is_refusal and re.search(NO_IMAGE_SUPPORT, str(error).lower()) is not None


class ImageFallback:
    """A service whose models get images only if they are not known to be blind.

    That is known from the preset, from the facts, where they are at hand, or from a refusal: then the model is asked
    once more without them, and so from then on. The history is left as it is, so a model that sees gets all of them.
    """

    def __init__(self, service: Service, endpoint: Endpoint, facts: ModelInfoSource | None = None) -> None:
        self.name = service.name
        self._service = service
        self._endpoint = endpoint
        self._facts = facts
        self._denied: set[str] = set()
        self._told: set[str] = set()

    def warm(self) -> None:
        self._service.warm()

    async def models(self) -> list[str]:
        return await self._service.models()

    async def close(self) -> None:
        await self._service.close()

    def heeds_thinking(self, spec: ModelSpec, *, with_tools: bool) -> bool:
        service = self._service
        return not isinstance(service, ThinkingAware) or service.heeds_thinking(spec, with_tools=with_tools)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return self._looking(request) if has_images(request.messages) else self._service.stream(request)

    async def _looking(self, request: Request) -> AsyncGenerator[Delta]:
        begun = False
        try:
            if not self._is_blind(request.spec.model_id):
                async with aclosing(_closable(self._service.stream(request))) as deltas:
                    async for delta in deltas:
                        begun = True
                        yield delta
                return
        except ProviderError as error:
            if begun or not rejects_images(error):
                raise
            self._denied.add(request.spec.model_id)
        self._tell(request)
        blind = replace(request, messages=without_images(request.messages))
        async with aclosing(_closable(self._service.stream(blind))) as deltas:
            async for delta in deltas:
                yield delta

    def _is_blind(self, model_id: str) -> bool:
        facts = self._facts.now if self._facts else None
        by_preset = self._endpoint.is_vendors_own and self._endpoint.preset.is_text_only(model_id)
        return model_id in self._denied or by_preset or (facts is not None and facts.images is False)

    def _tell(self, request: Request) -> None:
        name = request.spec.name
        if request.on_notice is not None and name not in self._told:
            self._told.add(name)
            request.on_notice(f"{name} sees no images: it is told where they were, and nothing of what they show.")


def _in_words(message: ModelMessage) -> ModelMessage:
    if isinstance(message, AssistantMessage):
        return message
    return replace(message, content=tuple(map(_word_for, message.content)))


def _word_for(block: UserContent) -> UserContent:
    if not isinstance(block, Image):
        return block
    size = max(1, round(len(block.data) * 3 / 4 / 1000))
    return Text(f"[{block.media_type}, {size} kB: left out, since this model sees no images]")


async def _closable(deltas: AsyncIterator[Delta]) -> AsyncGenerator[Delta]:
    """What is broken off holds its connection until it is closed."""
    try:
        async for delta in deltas:
            yield delta
    finally:
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()


if TYPE_CHECKING:
    _: tuple[type[Provider], type[Service]] = (ImageFallback, ImageFallback)
