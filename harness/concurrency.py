"""Cancelling tasks and processes, interruptible waits, and work in threads and event loops."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from typing import Any, TypeVar

_T = TypeVar("_T")


async def cancel_tasks(tasks: Sequence[asyncio.Task[_T]], grace_s: float = inf) -> None:
    """Cancel pending tasks and wait up to `grace_s` seconds for their end.

    If the caller is cancelled meanwhile, the tasks are cancelled again, and the cancellation propagates at the end.
    """
    interrupted = False
    deadline = time.monotonic() + grace_s
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending, timeout=None if deadline == inf else max(0.0, deadline - time.monotonic()))
            break
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a running process, and wait for its end.

    `Process.kill` would first poll the process and so take the exit code from asyncio's waiting thread, which then
    reports an unknown child process and invents an exit code.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    await process.wait()


def raise_if_cancelled(task: asyncio.Task[Any] | None = None) -> None:
    """Raise a cancellation of a task, by default this one, that user-supplied code has swallowed."""
    if is_cancelled(task or asyncio.current_task()):
        raise asyncio.CancelledError


def is_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Return True if a task was cancelled, as opposed to code that raised a `CancelledError` of its own."""
    return task is not None and task.cancelling() > 0


async def run_uninterrupted(work: Coroutine[Any, Any, _T], *, cancel_once: bool = False) -> _T:
    """Return the result of `work`, which runs to its end however often the caller is cancelled meanwhile.

    With `cancel_once`, the first cancellation is passed on, and `work` may release resources in several steps.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if cancel_once:
            task.cancel()
        await _wait_for_end(task)
        raise


async def stop_once(task: asyncio.Task[Any]) -> None:
    """Cancel a task once, and wait for its end, however often the caller is cancelled meanwhile."""
    task.cancel()
    interrupted = await _wait_for_end(task)
    if not task.cancelled():
        # Retrieve the exception, which is of no interest here.
        task.exception()
    if interrupted:
        raise asyncio.CancelledError


async def _wait_for_end(task: asyncio.Task[Any]) -> bool:
    """Return True if the caller was cancelled meanwhile."""
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            interrupted = True
    return interrupted


def call_in(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    """Call `work` in a loop: at once if called from it, else as soon as possible; not at all if the loop is closed."""
    if _is_running_here(loop):
        work()
        return
    with suppress(RuntimeError):
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
            call_in(waiter.get_loop(), partial(settle, waiter, None))

    def drop(self) -> None:
        self._is_raised = False

    @contextmanager
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


async def in_thread(work: Callable[[], _T]) -> _T:
    """Return the result of `work`, which runs in a thread of its own.

    A cancelled call abandons the thread; neither the event loop nor the interpreter waits for it.
    """
    outcome = Future[_T]()
    # Otherwise a cancelled call would cancel it, and the thread could not set its result.
    outcome.set_running_or_notify_cancel()
    run = partial(_set_outcome, outcome, partial(contextvars.copy_context().run, work))
    threading.Thread(target=run, name="cinch-tool", daemon=True).start()
    return await asyncio.wrap_future(outcome)


def _set_outcome(outcome: Future[_T], work: Callable[[], _T]) -> None:
    """Set the result of `work`, or its exception, which is raised again where the outcome is awaited."""
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001
        outcome.set_exception(error)


def settle(future: asyncio.Future[_T], result: _T) -> None:
    """Complete a future with a result, unless it is already done."""
    if not future.done():
        future.set_result(result)


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class InterruptibleWait:
    """The waits of an agent and its subagents, which share one instance."""

    def __init__(self) -> None:
        self._waits: set[asyncio.Event] = set()

    async def wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until `cut` is called."""
        is_cut = asyncio.Event()
        self._waits.add(is_cut)
        try:
            async with asyncio.timeout(seconds):
                await is_cut.wait()
        except TimeoutError:
            return
        finally:
            self._waits.discard(is_cut)

    def cut(self) -> bool:
        """End all current waits. Return False if there were none."""
        for is_cut in self._waits:
            is_cut.set()
        return bool(self._waits)


def run_blocking(start: Callable[[], Coroutine[None, None, _T]], stop: Callable[[], None]) -> _T:
    """Return the result of `start()`. On Ctrl+C, call `stop` to end the work, and raise `KeyboardInterrupt`.

    If a loop is running in this thread, the work gets its own thread and loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # In the main thread asyncio turns Ctrl+C into a cancellation, which arrives at a safe point.
        return asyncio.run(start())
    return _in_a_thread(start, stop)


def _in_a_thread(start: Callable[[], Coroutine[None, None, _T]], stop: Callable[[], None]) -> _T:
    outcome = Future[_T]()
    loops: list[asyncio.AbstractEventLoop] = []

    async def known() -> _T:
        loops.append(asyncio.get_running_loop())
        return await start()

    # Not `join`: after an interruption, CPython 3.11 considers the thread ended.
    try:
        work = partial(_set_outcome, outcome, lambda: asyncio.run(known()))
        threading.Thread(target=work, name="cinch-prompt-sync").start()
        wait([outcome])
    except KeyboardInterrupt:
        for loop in loops:
            # The loop may have ended at this moment.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stop)
        wait([outcome])
        raise
    return outcome.result()
