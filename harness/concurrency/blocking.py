"""Running a coroutine to its end, with or without a running event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


def run_blocking(start: Callable[[], Coroutine[None, None, T]], stop: Callable[[], None]) -> T:
    """Return the result of `start()`. On Ctrl+C, call `stop` to end the work, and raise `KeyboardInterrupt`.

    If a loop is running in this thread, the work gets its own thread and loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # In the main thread asyncio turns Ctrl+C into a cancellation, which arrives at a safe point.
        return asyncio.run(start())
    return _in_a_thread(start, stop)


def _in_a_thread(start: Callable[[], Coroutine[None, None, T]], stop: Callable[[], None]) -> T:
    results: list[T] = []
    failures: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def known() -> T:
        loops.append(asyncio.get_running_loop())
        return await start()

    def work() -> None:
        try:
            results.append(asyncio.run(known()))
        except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
            failures.append(error)
        finally:
            ended.set()

    # Not `join`: after an interruption, CPython 3.11 considers the thread ended.
    ended = threading.Event()
    try:
        threading.Thread(target=work, name="cinch-prompt-sync").start()
        ended.wait()
    except KeyboardInterrupt:
        for loop in loops:
            # The loop may have ended at this moment.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(stop)
        ended.wait()
        raise
    if failures:
        raise failures[0]
    return results[0]
