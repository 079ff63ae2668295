"""Event channel for one reader that may lag: the writer never waits, and streamed deltas are merged, not lost."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from harness.concurrency.threads import settle
from harness.deltas import BlockDelta
from harness.events import BranchEvent, Event, MessageUpdate, SubagentEvent, ToolExecutionEnd, ToolExecutionUpdate


class _Slot(Struct):
    """A queued event. `text` holds the pieces of streamed text that were merged into it, None for its own text only."""

    event: Event
    stream: Hashable
    text: list[str] | None = None


class Channel:
    """Queue for one reader, which may run in another thread and event loop than the writer.

    Once it holds `capacity` events, streamed text is merged with the queued text of its block, and a progress update
    replaces the queued one of its call. Everything else is kept, however far the reader lags. Events are returned in
    the order of their `seq`.
    """

    def __init__(self, capacity: int = 256) -> None:
        self._capacity = capacity
        self._slots: OrderedDict[int, _Slot] = OrderedDict()
        self._newest: dict[Hashable, int] = {}
        self._count = 0
        self._closed = False
        self._waiters: set[asyncio.Future[None]] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def put(self, event: Event) -> None:
        """Add an event; ignored once the channel is closed."""
        with self._lock:
            if self._closed:
                return
            self._append(self._slot_for(event))
            self._wake()

    async def get(self) -> Event | None:
        """Return the oldest event, waiting for one if necessary; None if the channel is closed and empty."""
        while True:
            with self._lock:
                if self._slots:
                    return self._take()
                if self._closed:
                    return None
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.add(waiter)
            try:
                await waiter
            finally:
                with self._lock:
                    self._waiters.discard(waiter)

    def close(self) -> None:
        """Accept no more events; queued ones can still be read."""
        with self._lock:
            self._closed = True
            self._wake()

    def _slot_for(self, event: Event) -> _Slot:
        stream = _stream_of(event)
        if stream is None or len(self._slots) < self._capacity:
            return _Slot(event, stream)
        queued = self._slots.get(self._newest.get(stream, 0))
        if queued is None or not _joins(queued.event, event):
            return _Slot(event, stream)
        # Moved to the end, so that the new text does not overtake earlier events.
        del self._slots[self._newest[stream]]
        return _Slot(event, stream, _joined_text(queued, event))

    def _append(self, slot: _Slot) -> None:
        self._count += 1
        self._slots[self._count] = slot
        if slot.stream is not None:
            self._newest[slot.stream] = self._count

    def _take(self) -> Event:
        number, slot = self._slots.popitem(last=False)
        if slot.stream is not None and self._newest.get(slot.stream) == number:
            del self._newest[slot.stream]
        return slot.event if slot.text is None else _with_text(slot.event, "".join(slot.text))

    def _wake(self) -> None:
        for waiter in self._waiters:
            # The event loop of the reader may be closed.
            with contextlib.suppress(RuntimeError):
                waiter.get_loop().call_soon_threadsafe(settle, waiter)
        self._waiters.clear()


class Listener:
    """Async iterator of an agent's events, for one consumer, from its creation until the agent is closed.

    A consumer that lags receives merged deltas; see `Channel`. A closed or discarded listener costs nothing.
    """

    def __init__(self, channel: Channel, unsubscribe: Callable[[Channel], None]) -> None:
        self._channel = channel
        self._unsubscribe = unsubscribe

    @property
    def waiting(self) -> int:
        """Number of events that wait to be read."""
        return len(self._channel)

    def __aiter__(self) -> Listener:
        return self

    async def __anext__(self) -> Event:
        event = await self._channel.get()
        if event is None:
            raise StopAsyncIteration
        return event

    def close(self) -> None:
        """Stop listening; events received so far can still be read."""
        self._unsubscribe(self._channel)
        self._channel.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self._unsubscribe(self._channel)


def _stream_of(event: Event) -> Hashable | None:
    """Return a key that events of the same stream share, or None if the event cannot be merged."""
    match event:
        case MessageUpdate(message_id=message_id, delta=delta):
            return (message_id, delta.index)
        case ToolExecutionUpdate(call_id=call_id):
            return call_id
        case ToolExecutionEnd(result=result):
            return result.call_id
        case SubagentEvent(event=inner) | BranchEvent(event=inner):
            # Calls of different agents may have the same id.
            stream = _stream_of(inner)
            return None if stream is None else (inner.run_id, stream)
        case _:
            return None


def _joins(before: Event, after: Event) -> bool:
    """Return True if the later of two events of a stream may replace both."""
    match before, after:
        case MessageUpdate(delta=BlockDelta()), MessageUpdate(delta=BlockDelta()):
            return True
        case ToolExecutionUpdate(), ToolExecutionUpdate():
            return True
        case (SubagentEvent(event=first), SubagentEvent(event=second)) | (
            BranchEvent(event=first),
            BranchEvent(event=second),
        ):
            return _joins(first, second)
        case _:
            return False


def _joined_text(waiting: _Slot, event: Event) -> list[str] | None:
    added = _text_of(event)
    if added is None:
        return None
    text = [_text_of(waiting.event) or ""] if waiting.text is None else waiting.text
    text.append(added)
    # Pieces of decreasing length: text is not copied for each delta, and the list stays short.
    while len(text) > 1 and len(text[-2]) < 2 * len(text[-1]):
        text[-2:] = [text[-2] + text[-1]]
    return text


def _text_of(event: Event) -> str | None:
    match event:
        case MessageUpdate(delta=BlockDelta(text=text)):
            return text
        case SubagentEvent(event=inner) | BranchEvent(event=inner):
            return _text_of(inner)
        case _:
            return None


def _with_text(event: Event, text: str) -> Event:
    match event:
        case MessageUpdate(delta=BlockDelta(index=index)):
            return replace(event, delta=BlockDelta(index, text))
        case SubagentEvent(event=inner) | BranchEvent(event=inner):
            return replace(event, event=_with_text(inner, text))
        case _:
            return event
