"""Messages that wait for an agent: steering, follow-ups and notices; and the interruption of its current turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, TypeAlias, TypeVar

from harness.concurrency import Flag
from harness.messages import UserMessage

_T = TypeVar("_T")

QueueMode: TypeAlias = Literal["one", "all"]


class Queue:
    """Thread-safe message queue. Mode `one` returns one message at a time, `all` all at once."""

    def __init__(self, mode: QueueMode = "one") -> None:
        self.mode: QueueMode = mode
        self._queued: list[UserMessage] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """Queued messages, oldest first."""
        with self._lock:
            return tuple(self._queued)

    def put(self, message: UserMessage, at: int | None = None) -> None:
        """Insert a message at the end, or at position `at`."""
        with self._lock:
            self._queued.insert(len(self._queued) if at is None else at, message)

    def take(self) -> tuple[UserMessage, ...]:
        with self._lock:
            return self._taken(1 if self.mode == "one" else len(self._queued))

    def clear(self) -> tuple[UserMessage, ...]:
        """Empty the queue and return its messages."""
        with self._lock:
            return self._taken(len(self._queued))

    def place(self, message_id: str) -> int | None:
        """Return the position of a message, from 0, or None if it is no longer queued."""
        with self._lock:
            return self._place(message_id)

    def remove(self, message_id: str) -> UserMessage | None:
        """Remove and return a message; None if it is no longer queued."""
        with self._lock:
            place = self._place(message_id)
            return None if place is None else self._queued.pop(place)

    def replace(self, message_id: str, message: UserMessage) -> bool:
        """Replace a queued message. Return False if it is no longer queued."""
        with self._lock:
            place = self._place(message_id)
            if place is not None:
                self._queued[place] = message
            return place is not None

    def move(self, message_id: str, by: int) -> bool:
        """Move a message by `by` positions, within the queue. Return False if it is no longer queued."""
        with self._lock:
            place = self._place(message_id)
            if place is not None:
                self._queued.insert(max(0, place + by), self._queued.pop(place))
            return place is not None

    def _place(self, message_id: str) -> int | None:
        return next((place for place, each in enumerate(self._queued) if each.id == message_id), None)

    def _taken(self, count: int) -> tuple[UserMessage, ...]:
        taken = tuple(self._queued[:count])
        del self._queued[:count]
        return taken


class Interruption:
    """A request to cut the current turn short. Requested from any thread; accepted only while a run takes turns."""

    def __init__(self) -> None:
        self._flag = Flag(is_raised=False)
        self._is_accepted = False

    def __bool__(self) -> bool:
        """True from the request until the turn is over."""
        return bool(self._flag)

    @contextmanager
    def accepted(self) -> Generator[None]:
        """Accept requests in this block; one that came earlier does not count."""
        self.withdraw()
        self._is_accepted = True
        try:
            yield
        finally:
            self._is_accepted = False
            self.withdraw()

    def request(self) -> bool:
        """Interrupt the turn; return False if no turn is running."""
        if self._is_accepted:
            self._flag.lift()
        return self._is_accepted

    def withdraw(self) -> None:
        """The turn that it was meant for is over."""
        self._flag.drop()

    def waiter(self) -> AbstractContextManager[asyncio.Future[None]]:
        """A future that is done once an interruption is requested."""
        return self._flag.waiter()

    # Any: what a coroutine yields and is sent is asyncio's own affair.
    async def guard(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Return the result of `work`, or None when an interruption cancelled it."""
        task = asyncio.current_task()
        assert task is not None
        already, cancelled = task.cancelling(), False

        def cancel(_: asyncio.Future[None]) -> None:
            nonlocal cancelled
            cancelled = task.cancel()

        with self.waiter() as request:
            request.add_done_callback(cancel)
            try:
                return await work
            except asyncio.CancelledError:
                if not cancelled or task.cancelling() > already + 1:
                    raise
                return None
            finally:
                request.remove_done_callback(cancel)
                if cancelled:
                    task.uncancel()


class Inbox:
    """Queues of an agent.

    Attributes:
        steering: Messages for the active run.
        follow_up: Messages for the end of the run.
        reminders: Messages of the program for the next turn of a run.
        news: Notices of background events; they stay queued for the next run if this one ends first.
        interruption: Request to deliver the steering messages at once.
    """

    def __init__(self, steering: QueueMode = "one", follow_up: QueueMode = "one") -> None:
        self.steering = Queue(steering)
        self.follow_up = Queue(follow_up)
        self.reminders = Queue("all")
        self.news = Queue("all")
        self.interruption = Interruption()

    def __len__(self) -> int:
        return len(self.steering) + len(self.follow_up) + len(self.reminders) + len(self.news)

    def clear(self) -> None:
        """Drop everything that is queued."""
        for queue in (self.steering, self.follow_up, self.reminders, self.news):
            queue.clear()

    @property
    def has_notices(self) -> bool:
        """True if the program has queued a message."""
        return bool(self.reminders or self.news)

    def take_notices(self) -> tuple[UserMessage, ...]:
        return self.reminders.clear() + self.news.clear()

    @property
    def has_pending(self) -> bool:
        """True if a message has to be delivered before the run may end."""
        return bool(self.steering or self.has_notices)
