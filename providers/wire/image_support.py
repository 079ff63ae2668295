"""Models without image support: each image is replaced by a placeholder, and the user is notified."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from msgspec.structs import replace

from harness.deltas import Delta
from harness.errors import ModelNotFound, NetworkError, ProviderError, RequestRejected
from harness.messages import AssistantMessage, Image, ModelMessage, Text, UserContent
from harness.ports.provider import ModelInfoSource, Request
from providers.endpoint import Endpoint
from providers.service import Service, WrappedService, open_stream

# Errors about a model without image support, as opposed to an unsupported image.
NO_IMAGE_SUPPORT = (
    r"(not|n't) (currently )?(support|accept|take)(ing)? (for )?(the |any )?"
    r"(image|vision|visual|multi-?modal)(s|_url)?\b(?!.{0,12}(format|type|size|dimension|urls?\b|/))"
    r"|\bimage(_url|s)?\W{0,3}( content| inputs?| understanding)?\W{0,2}( is| are)? (not|only) (supported|enabled)"
    r"|no endpoints found that support image|image (input )?modality is not enabled"
    r"|unknown variant \W{0,2}(image|input_image)|allowed values: \['text'\]|content\W{0,2} must be a string"
    r"|not a (multi-?modal|vision) model|at most 0 image|text-only model|only supports? text|data required for image"
)


def without_images(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Return the messages with placeholders for images, including tool results."""
    return tuple(
        replace(message, content=tuple(map(_placeholder, message.content)))
        if not isinstance(message, AssistantMessage) and has_images((message,))
        else message
        for message in messages
    )


def has_images(messages: Sequence[ModelMessage]) -> bool:
    return any(
        isinstance(block, Image)
        for message in messages
        if not isinstance(message, AssistantMessage)
        for block in message.content
    )


def rejects_images(error: ProviderError) -> bool:
    """Return True if an error is about images as such; some servers fail with them instead of rejecting them."""
    is_refusal = isinstance(error, RequestRejected | ModelNotFound | NetworkError) and error.status is not None
    return is_refusal and re.search(NO_IMAGE_SUPPORT, str(error).lower()) is not None


class ImageFallback(WrappedService):
    """A service that sends images only to models that support them.

    Support is known from the preset, from model information if available, or from an error, after which the request is
    sent again without images, as are later ones. The history keeps its images for models that support them.
    """

    def __init__(self, service: Service, endpoint: Endpoint, info: ModelInfoSource | None = None) -> None:
        super().__init__(service)
        self._endpoint = endpoint
        self._info = info
        self._rejected: set[str] = set()
        self._notified: set[str] = set()

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return self._with_fallback(request) if has_images(request.messages) else self._service.stream(request)

    async def _with_fallback(self, request: Request) -> AsyncGenerator[Delta]:
        while True:
            is_text_only, started = self._is_text_only(request.spec.model_id), False
            if is_text_only:
                self._notify(request)
                request = replace(request, messages=without_images(request.messages))
            try:
                async with open_stream(self._service, request) as deltas:
                    async for delta in deltas:
                        started = True
                        yield delta
                return
            except ProviderError as error:
                if started or is_text_only or not rejects_images(error):
                    raise
                self._rejected.add(request.spec.model_id)

    def _is_text_only(self, model_id: str) -> bool:
        info = self._info.now if self._info else None
        by_preset = self._endpoint.is_vendors_own and self._endpoint.preset.is_text_only(model_id)
        return model_id in self._rejected or by_preset or (info is not None and info.images is False)

    def _notify(self, request: Request) -> None:
        name = request.spec.name
        if request.on_notice is not None and name not in self._notified:
            self._notified.add(name)
            request.on_notice(f"{name} does not support images: they are replaced by placeholders.")


def _placeholder(block: UserContent) -> UserContent:
    if not isinstance(block, Image):
        return block
    size = max(1, round(len(block.data) * 3 / 4 / 1000))
    return Text(f"[{block.media_type}, {size} kB: omitted: this model does not support images]")
