"""Event bus: publishes each event to all subscribers in order, and to channels for readers that may lag."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.concurrency import settle
from harness.deltas import BlockDelta
from harness.errors import ConfigError
from harness.events import (
    BranchEvent,
    Event,
    MessageEnd,
    MessageRole,
    MessageStart,
    MessageUpdate,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionUpdate,
)
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, UserMessage


def innermost(event: Event) -> Event:
    """Return the event inside `SubagentEvent` and `BranchEvent` wrappers, or the event itself."""
    while isinstance(event, SubagentEvent | BranchEvent):
        event = event.event
    return event


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
                waiter.get_loop().call_soon_threadsafe(settle, waiter, None)
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

    def __exit__(self, *_: object) -> None:
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
    match innermost(before), innermost(after):
        case MessageUpdate(delta=BlockDelta()), MessageUpdate(delta=BlockDelta()):
            return True
        case ToolExecutionUpdate(), ToolExecutionUpdate():
            return True
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
    match innermost(event):
        case MessageUpdate(delta=BlockDelta(text=text)):
            return text
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


logger = logging.getLogger(__name__)
# A library logs nothing to stderr unless the program sets up logging. Every agent imports this module.
logging.getLogger("harness").addHandler(logging.NullHandler())

Subscriber: TypeAlias = Callable[[Event], None]
Drain: TypeAlias = Callable[[], Awaitable[None]]

_ROLES: dict[type[Message], MessageRole] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResult: "tool_result",
    CustomMessage: "custom",
}


class Bus:
    """Fills in event headers and calls the subscribers one after another.

    A subscriber that raises is logged and removed, so that an observer cannot stop what it observes. An event that a
    subscriber publishes is delivered after the current one, so that all subscribers receive the same order.
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.run_id = ""
        self.turn = 0
        self._seq = 0
        self._pending: deque[Event] = deque()
        self._is_delivering = False
        self._subscribers: list[Subscriber] = []
        self._channels: list[Channel] = []
        self._drains: list[Drain] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every later event, until the returned function is called.

        Raises:
            ConfigError: The subscriber is async, so that calling it would do nothing.
        """
        if inspect.iscoroutinefunction(subscriber):
            raise ConfigError("a subscriber is called and not awaited: subscribe a plain function, or use `listen`")
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def listen(self, capacity: int) -> Listener:
        """Return a stream of all later events, for one consumer that may lag."""
        channel = Channel(capacity)
        self._channels.append(channel)
        return Listener(channel, self._forget)

    def add_drain(self, drain: Drain) -> Callable[[], None]:
        """Let `flush` wait for a subscriber that stores events in the background, until the function is called."""
        self._drains.append(drain)
        return lambda: self._drains.remove(drain) if drain in self._drains else None

    async def flush(self) -> None:
        """Wait until all events are stored that must not be lost if the process dies now."""
        for drain in tuple(self._drains):
            await drain()

    def close(self) -> None:
        """End all event streams; subscribers remain."""
        for channel in tuple(self._channels):
            channel.close()
        self._channels.clear()

    def publish(self, event: Event) -> None:
        self._seq += 1
        stamped = replace(
            event, seq=self._seq, time=time.time(), session_id=self.session_id, run_id=self.run_id, turn=self.turn
        )
        self._pending.append(stamped)
        if not self._is_delivering:
            self._deliver_all()

    def _deliver_all(self) -> None:
        self._is_delivering = True
        try:
            while self._pending:
                event = self._pending.popleft()
                for subscriber in tuple(self._subscribers):
                    self._deliver(event, subscriber)
                for channel in tuple(self._channels):
                    channel.put(event)
        finally:
            self._is_delivering = False

    def _deliver(self, event: Event, subscriber: Subscriber) -> None:
        try:
            subscriber(event)
        except (Exception, asyncio.CancelledError):  # user-supplied code; may raise anything
            logger.exception("a subscriber failed at %s and is removed", type(event).__name__)
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

    def _forget(self, channel: Channel) -> None:
        if channel in self._channels:
            self._channels.remove(channel)


def publish_message(publish: Callable[[Event], None], message: Message) -> None:
    """Publish the start and end of a message that was not streamed."""
    publish(MessageStart(message_id=message.id, role=_ROLES[type(message)]))
    publish(MessageEnd(message=message))
