"""Streaming requests: the path from a request to deltas, shared by all providers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, Delta
from harness.errors import NetworkError, StreamError
from harness.messages import JsonObject
from http_client.text import plain
from providers.endpoint import Endpoint
from providers.net.framing import EventDecoder, Framing
from providers.net.transport import Transport

DRAIN_SECONDS = 0.25
EVENTLESS_SECONDS = 900.0
"""Seconds that a service may send only keep-alive messages; some queue a request for ten minutes."""


class ReplyDecoder(Protocol):
    """Turns the events of one reply into deltas. Events are third-party JSON, hence `Any`."""

    is_over: bool = False
    """True after the last event; also set from outside for end markers that all services share."""

    @property
    def is_complete(self) -> bool:
        """Return True if everything that a reply needs has arrived."""
        ...

    def take(self, event: Any) -> Sequence[Delta]: ...

    def finish(self) -> Sequence[Delta]:
        """Return the deltas that close a complete reply, `Done` last."""
        ...


async def deltas(
    transport: Transport, path: str, body: JsonObject, decoder: ReplyDecoder, framing: Framing | None = None
) -> AsyncGenerator[Delta]:
    """Send a request and yield each delta when its bytes have arrived.

    Args:
        transport: Connection to the service.
        path: Path of the request.
        body: JSON body.
        decoder: Decoder of the reply.
        framing: Format of the stream; server-sent events by default.

    Raises:
        ProviderError: The request failed, or the stream ended before the reply was complete.
    """
    events: Framing = framing or EventDecoder()
    surrogates = SurrogateBuffer()
    try:
        async with transport.post(path, body) as chunks:
            last_event = monotonic()
            async for chunk in chunks:
                received = events.feed(chunk)
                for delta in surrogates.joined(decoded(decoder, received, transport.endpoint)):
                    yield delta
                last_event = monotonic() if received else last_event
                if monotonic() - last_event > EVENTLESS_SECONDS:
                    where = transport.endpoint.shown_url
                    raise NetworkError(f"{where} sent only keep-alive messages; the request timed out")
                if decoder.is_over:
                    await _drain(chunks)
                    break
    except NetworkError:
        if not decoder.is_complete:
            raise
    for delta in surrogates.joined(_last(decoder, events, transport)):
        yield delta


def decoded(decoder: ReplyDecoder, events: Sequence[str], endpoint: Endpoint | None = None) -> Iterator[Delta]:
    """Yield the deltas of events, given as their data. No error contains the key of the `endpoint`.

    Raises:
        ProviderError: An event is an error, or invalid.
    """
    for data in events:
        if data == "[DONE]":
            decoder.is_over = True
        if decoder.is_over:
            return
        try:
            found = decoder.take(json.loads(data))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            shown = plain(endpoint.hide_key(data) if endpoint else data)[:200]
            raise StreamError(f"the service sent an invalid event: {shown}") from error
        yield from found


def _last(decoder: ReplyDecoder, events: Framing, transport: Transport) -> Iterator[Delta]:
    # A broken connection can leave an incomplete event.
    with suppress(StreamError):
        yield from decoded(decoder, events.finish(), transport.endpoint)
    if not decoder.is_complete:
        raise NetworkError(
            f"the reply of {transport.endpoint.preset.label} is incomplete: the connection was closed early"
        )
    yield from decoder.finish()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end of the response, which is due, so that the connection can be reused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass


REPLACEMENT = "\ufffd"


class SurrogateBuffer:
    """Joins surrogate pairs that a service split between two deltas of a block; a lone surrogate is replaced.

    Services that count UTF-16 code units, as JavaScript and Java do, may cut a character in two.
    """

    def __init__(self) -> None:
        self._pending: dict[int, str] = {}

    def joined(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        for delta in deltas:
            match delta:
                case BlockDelta(_, text) if self._pending or "\ud800" <= text[-1:] <= "\udbff":
                    yield from self._whole(delta)
                    continue
                case BlockEnd(index) if index in self._pending:
                    del self._pending[index]
                    yield BlockDelta(index, REPLACEMENT)
                case _:
                    pass
            yield delta

    def _whole(self, delta: BlockDelta) -> Iterator[Delta]:
        text = self._pending.pop(delta.index, "") + delta.text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._pending[delta.index] = text[-1]
            text = text[:-1]
        if text:
            # UTF-16 consists of surrogates; a lone one is replaced when decoding.
            yield replace(delta, text=text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
