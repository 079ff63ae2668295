"""The one way from a request to deltas, shared by all providers that stream server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from harness.errors import NetworkError, StreamError
from harness.messages import JsonObject
from harness.provider import Delta, Done
from providers.failures import plain
from providers.sse import EventDecoder
from providers.transport import Transport

DRAIN_SECONDS = 0.25


class ReplyDecoder(Protocol):
    """Turns a service's events into deltas, one reply long. Events are someone else's JSON, hence `Any`."""

    @property
    def is_complete(self) -> bool:
        """Whether all has come that a reply needs."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""
        ...

    def take(self, event: Any) -> Sequence[Delta]: ...

    def finish(self) -> Sequence[Delta | Done]:
        """What closes a complete reply, `Done` last."""
        ...


async def deltas(transport: Transport, path: str, body: JsonObject, decoder: ReplyDecoder) -> AsyncIterator[Delta]:
    """Ask, and hand on each delta when its bytes have arrived.

    Raises:
        ProviderError: also when the stream ends before the reply is complete.
    """
    events = EventDecoder()
    try:
        async with transport.post(path, body) as chunks:
            async for chunk in chunks:
                for data in events.feed(chunk):
                    for delta in _taken(decoder, data):
                        yield delta
                if decoder.is_over:
                    await _drain(chunks)
                    break
    except NetworkError:
        if not decoder.is_complete:
            raise
    for data in events.finish():
        for delta in _taken(decoder, data):
            yield delta
    if not decoder.is_complete:
        raise NetworkError(f"the reply of {transport.endpoint.preset.label} was cut off before its end")
    for delta in decoder.finish():
        yield delta


def _taken(decoder: ReplyDecoder, data: str) -> Sequence[Delta]:
    if data == "[DONE]" or decoder.is_over:
        return ()
    try:
        return decoder.take(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StreamError(f"the service sent an event that cannot be read: {plain(data[:200])}") from error


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read on to the end of the answer, which is due, so that the connection can be used again."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except TimeoutError:
        return
