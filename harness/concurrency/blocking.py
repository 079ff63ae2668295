"""Runs a coroutine to its end for a caller that has no event loop, or is inside one that must wait."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


def run_blocking(start: Callable[[], Coroutine[None, None, T]], stop: Callable[[], None]) -> T:
    """What `start()` comes to. Interrupted (Ctrl+C), it lets `stop` end the work and the interruption pass.

    Where a loop is running in this thread, the work gets a thread and a loop of its own.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # In the main thread asyncio turns Ctrl+C into a cancellation, so that it comes at no awkward moment.
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

    # Not `join`: interrupted, CPython 3.11's takes the thread for ended from then on.
    ended = threading.Event()
    try:
        threading.Thread(target=work, name="cinch-prompt-sync").start()
        ended.wait()
    except KeyboardInterrupt:
        for loop in loops:
            # It may have ended in this very moment.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(stop)
        ended.wait()
        raise
    if failures:
        raise failures[0]
    return results[0]
