"""What is said while a run is on: steering for now, follow-ups for its end."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Literal, TypeAlias

from harness.messages import UserMessage

QueueMode: TypeAlias = Literal["one", "all"]


class Queue:
    """Messages that wait. Mode `one` hands out one at a time, `all` all at once."""

    def __init__(self, mode: QueueMode = "one") -> None:
        self.mode: QueueMode = mode
        self._waiting: deque[UserMessage] = deque()
        self._arrival: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """What waits, oldest first."""
        return tuple(self._waiting)

    def arrival(self) -> asyncio.Future[None]:
        """Done once there is a message. One waiter at a time, which may live in another event loop than the last."""
        self._arrival = asyncio.get_running_loop().create_future()
        if self._waiting:
            self._arrival.set_result(None)
        return self._arrival

    def put(self, message: UserMessage) -> None:
        self._waiting.append(message)
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def take(self) -> tuple[UserMessage, ...]:
        if not self._waiting:
            return ()
        if self.mode == "one" and len(self._waiting) > 1:
            return (self._waiting.popleft(),)
        return self.clear()

    def clear(self) -> tuple[UserMessage, ...]:
        """Empty the queue and hand back what was in it, so that nothing typed is lost."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting


class Inbox:
    """`steering` interrupts a run, `follow_up` waits for its end; `reminders` are what the program itself has to say
    at the next turn."""

    def __init__(self, steering: QueueMode = "one", follow_up: QueueMode = "one") -> None:
        self.steering = Queue(steering)
        self.follow_up = Queue(follow_up)
        self.reminders = Queue("all")

    def __len__(self) -> int:
        return len(self.steering) + len(self.follow_up) + len(self.reminders)

    @property
    def interrupts(self) -> bool:
        """Whether something is to be said before the run may end."""
        return bool(self.steering or self.reminders)
