"""Event loop with a virtual clock: timers fire at once, and a deadlock raises an error."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")

MOST_NUDGES = 20


class Deadlock(AssertionError):
    """All tasks wait, and no timer will wake them."""


class _Jumping(selectors.DefaultSelector):
    """Selector that does not wait: the clock jumps to the end of the timeout."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.nudges = 0
        self.on_idle: Callable[[], None] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            self._nudge()
        elif timeout > 0:
            self.now += timeout
        return []

    def _nudge(self) -> None:
        self.nudges += 1
        if self.on_idle is None or self.nudges > MOST_NUDGES:
            raise Deadlock("everybody waits for something that will never come")
        self.on_idle()


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop with a virtual clock. `on_idle` is called when all tasks wait without a timer.

    Threads and sockets are not supported: executor jobs run at once.
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def when_idle(self, nudge: Callable[[], None]) -> None:
        self._jumping.nudges = 0
        self._jumping.on_idle = nudge

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  as a thread hands it on
            future.set_exception(error)
        return future
