"""Event loops and threads: calls into a loop from any thread, and work in separate threads."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import TypeVar

T = TypeVar("T")


def call_in(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    """Call `work` in a loop: at once if called from it, else as soon as possible; not at all if the loop is closed."""
    if _is_running_here(loop):
        work()
        return
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(work)


class Flag:
    """Thread-safe flag that tasks of any event loop can wait for; `asyncio.Event` belongs to a single loop."""

    def __init__(self, *, is_raised: bool) -> None:
        self._is_raised = is_raised
        self._waiters: list[asyncio.Future[None]] = []
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return self._is_raised

    def lift(self) -> None:
        """Raise the flag and wake all waiting tasks."""
        with self._lock:
            self._is_raised = True
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            call_in(waiter.get_loop(), partial(settle, waiter))

    def drop(self) -> None:
        self._is_raised = False

    @contextlib.contextmanager
    def waiter(self) -> Generator[asyncio.Future[None]]:
        """Return a context manager for a future that is done once the flag is raised."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._is_raised:
                waiter.set_result(None)
            else:
                self._waiters.append(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    async def wait(self) -> None:
        with self.waiter() as waiter:
            await waiter


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, which runs in a thread of its own.

    A cancelled call abandons the thread; neither the event loop nor the interpreter waits for it.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001  raised again in the task that waits
            call_in(loop, partial(_fail, outcome, error))
        else:
            call_in(loop, partial(_succeed, outcome, result))

    threading.Thread(target=run, name="cinch-tool", daemon=True).start()
    return await outcome


def _succeed(outcome: asyncio.Future[T], result: T) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: asyncio.Future[T], error: BaseException) -> None:
    if not outcome.done():
        outcome.set_exception(error)


def settle(waiter: asyncio.Future[None]) -> None:
    """Complete a future, unless it is already done."""
    if not waiter.done():
        waiter.set_result(None)


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
