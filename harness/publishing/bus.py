"""Event bus: publishes each event to all subscribers, in order."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from harness.errors import ConfigError
from harness.events import Event, MessageEnd, MessageRole, MessageStart
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, UserMessage
from harness.publishing.channel import Channel, Listener

logger = logging.getLogger(__name__)
# A library logs nothing to stderr unless the program sets up logging. Every agent imports this module.
logging.getLogger("harness").addHandler(logging.NullHandler())

Subscriber: TypeAlias = Callable[[Event], None]

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

    def close(self) -> None:
        """End all event streams; subscribers remain."""
        for channel in tuple(self._channels):
            channel.close()
        self._channels.clear()

    def publish(self, event: Event) -> None:
        self._seq += 1
        stamped = replace(
            event,
            seq=self._seq,
            time=time.time(),
            session_id=self.session_id,
            run_id=self.run_id,
            turn=self.turn,
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
