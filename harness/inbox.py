"""Messages that wait for an agent: steering, follow-ups and notices; and the interruption of its current turn."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, TypeAlias, TypeVar

from harness.concurrency.threads import Flag
from harness.messages import UserMessage

_T = TypeVar("_T")

QueueMode: TypeAlias = Literal["one", "all"]


class Queue:
    """Messages that wait. Mode `one` hands out one at a time, `all` all at once.

    Filled, looked at and emptied from any thread.
    """

    def __init__(self, mode: QueueMode = "one") -> None:
        self.mode: QueueMode = mode
        self._waiting: deque[UserMessage] = deque()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """What waits, oldest first."""
        with self._lock:
            return tuple(self._waiting)

    def put(self, message: UserMessage, at: int | None = None) -> None:
        """At the end, or in that place; behind all, where there are fewer."""
        with self._lock:
            self._waiting.insert(len(self._waiting) if at is None else at, message)

    def take(self) -> tuple[UserMessage, ...]:
        with self._lock:
            count = 1 if self.mode == "one" else len(self._waiting)
            return self._taken(min(count, len(self._waiting)))

    def clear(self) -> tuple[UserMessage, ...]:
        """Empty the queue and hand back what was in it, so that nothing typed is lost."""
        with self._lock:
            return self._taken(len(self._waiting))

    def place(self, message_id: str) -> int | None:
        """Where that message waits, from 0; None where it was taken."""
        with self._lock:
            return self._place(message_id)

    def remove(self, message_id: str) -> UserMessage | None:
        """The message, which waits no longer; None where it was taken before."""
        with self._lock:
            place = self._place(message_id)
            if place is None:
                return None
            message = self._waiting[place]
            del self._waiting[place]
            return message

    def replace(self, message_id: str, message: UserMessage) -> bool:
        """Let another message wait in its place; whether it still waited."""
        with self._lock:
            place = self._place(message_id)
            if place is not None:
                self._waiting[place] = message
            return place is not None

    def move(self, message_id: str, by: int) -> bool:
        """Let it wait so many places later, or earlier, at most at an end; whether it still waited."""
        with self._lock:
            place = self._place(message_id)
            if place is not None:
                message = self._waiting[place]
                del self._waiting[place]
                self._waiting.insert(max(0, place + by), message)
            return place is not None

    def _place(self, message_id: str) -> int | None:
        return next((place for place, each in enumerate(self._waiting) if each.id == message_id), None)

    def _taken(self, count: int) -> tuple[UserMessage, ...]:
        return tuple(self._waiting.popleft() for _ in range(count))


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
        """Interrupt the turn. Returns False when there is none."""
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
    """`steering` interrupts a run, `follow_up` waits for its end; `reminders` are what the program itself has to say
    at the next turn of a run, `news` what happened beside it, which waits for another run where this one ends.
    `interruption` makes a run take its steering messages at once."""

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
        """Whether the program itself has something to say."""
        return bool(self.reminders or self.news)

    def take_notices(self) -> tuple[UserMessage, ...]:
        return self.reminders.clear() + self.news.clear()

    @property
    def has_pending(self) -> bool:
        """Whether something is to be said before the run may end."""
        return bool(self.steering or self.has_notices)
