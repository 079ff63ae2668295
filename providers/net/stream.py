"""The one way from a request to deltas, shared by all providers that stream JSON, in whatever frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any, Protocol

from harness.deltas import BlockDelta, BlockEnd, Delta
from harness.errors import NetworkError, StreamError
from harness.messages import JsonObject
from providers.endpoint import Endpoint
from providers.net.http_errors import plain
from providers.net.sse import EventDecoder
from providers.net.transport import Transport

DRAIN_SECONDS = 0.25
EVENTLESS_SECONDS = 900.0
"""How long a service may send signs of life and nothing else; some let a request wait for ten minutes."""


class ReplyDecoder(Protocol):
    """Turns a service's events into deltas, one reply long. Events are someone else's JSON, hence `Any`."""

    is_over: bool
    """Whether the last event has come; set from outside when the stream says so in a way that all services share."""

    @property
    def is_complete(self) -> bool:
        """Whether all has come that a reply needs."""
        ...

    def take(self, event: Any) -> Sequence[Delta]: ...

    def finish(self) -> Sequence[Delta]:
        """What closes a complete reply, `Done` last."""
        ...


class Framing(Protocol):
    """Cuts a stream of bytes, fed in chunks cut anywhere, into its events."""

    def feed(self, chunk: bytes) -> Sequence[str]: ...

    def finish(self) -> Sequence[str]:
        """What the stream ended in."""
        ...


async def deltas(
    transport: Transport, path: str, body: JsonObject, decoder: ReplyDecoder, framing: Framing | None = None
) -> AsyncGenerator[Delta]:
    """Ask, and hand on each delta when its bytes have arrived. Without a `framing`, these are server-sent events.

    Raises:
        ProviderError: also when the stream ends before the reply is complete.
    """
    events: Framing = framing or EventDecoder()
    halves = SurrogateBuffer()
    try:
        async with transport.post(path, body) as chunks:
            patience = _Patience()
            async for chunk in chunks:
                told = events.feed(chunk)
                for delta in halves.joined(decoded(decoder, told, transport.endpoint)):
                    yield delta
                patience.hear(told, transport.endpoint)
                if decoder.is_over:
                    await _drain(chunks)
                    break
    except NetworkError:
        if not decoder.is_complete:
            raise
    for delta in halves.joined(_last(decoder, events, transport)):
        yield delta


def decoded(decoder: ReplyDecoder, events: Sequence[str], endpoint: Endpoint | None = None) -> Iterator[Delta]:
    """The deltas of some events, given as their data. The key of the `endpoint` is in no error.

    Raises:
        ProviderError: an event is an error, or cannot be read.
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
            raise StreamError(f"the service sent an event that cannot be read: {shown}") from error
        yield from found


class _Patience:
    """How long a service is listened to that keeps the line open and says nothing."""

    def __init__(self) -> None:
        self._heard = monotonic()

    def hear(self, told: Sequence[str], endpoint: Endpoint) -> None:
        if told:
            self._heard = monotonic()
        elif monotonic() - self._heard > EVENTLESS_SECONDS:
            raise NetworkError(f"{endpoint.shown_url} sent nothing but signs of life; the connection was given up")


def _last(decoder: ReplyDecoder, events: Framing, transport: Transport) -> Iterator[Delta]:
    # A cut can leave half an event, which is no event.
    with suppress(StreamError):
        yield from decoded(decoder, events.finish(), transport.endpoint)
    if not decoder.is_complete:
        raise NetworkError(f"the reply of {transport.endpoint.preset.label} was cut off before its end")
    yield from decoder.finish()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read on to the end of the answer, which is due, so that the connection can be used again."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except TimeoutError:
        return


LOST = "\ufffd"


class SurrogateBuffer:
    """Joins the halves of letters that came in two pieces of one block; of a half that stays alone, a mark is left."""

    def __init__(self) -> None:
        self._held: dict[int, str] = {}

    def joined(self, deltas: Iterable[Delta]) -> Iterator[Delta]:
        for delta in deltas:
            match delta:
                case BlockDelta(_, text) if self._held or "\ud800" <= text[-1:] <= "\udbff":
                    yield from self._whole(delta)
                    continue
                case BlockEnd(index) if index in self._held:
                    del self._held[index]
                    yield BlockDelta(index, LOST)
                case _:
                    pass
            yield delta

    def _whole(self, delta: BlockDelta) -> Iterator[Delta]:
        text = self._held.pop(delta.index, "") + delta.text
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held[delta.index] = text[-1]
            text = text[:-1]
        if text:
            # UTF-16 is made of such halves; what is left alone in it cannot be read.
            yield replace(delta, text=text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
