"""Stopping tasks and processes, and waiting until they have stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

_T = TypeVar("_T")


async def cancel_tasks(tasks: Sequence[asyncio.Task[_T]], patience: float = inf) -> None:
    """Cancel what is not done and wait up to `patience` seconds for its end.

    Cancelled itself meanwhile, it tells them once more, waits on, and lets the cancellation pass at the end.
    """
    interrupted = False
    deadline = time.monotonic() + patience
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending, timeout=_remaining(deadline))
            break
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a process that still runs, and wait for its end.

    `Process.kill` asks the system first whether the process has ended, and so takes the exit code away from the thread
    of asyncio that waits for it, which then complains of an unknown child and makes one up.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    await process.wait()


def raise_if_cancelled() -> None:
    """Let a cancellation of this task pass that a stranger's code has swallowed."""
    if is_cancelled(asyncio.current_task()):
        raise asyncio.CancelledError


def is_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Whether a task was told to stop: a stranger's code may as well stumble over a cancellation of its own."""
    return task is not None and task.cancelling() > 0


async def run_cancelled_once(work: Coroutine[Any, Any, _T]) -> _T:
    """What `work` comes to. However often the caller is cancelled, `work` is only once, and is waited for, so that it
    can let go of what it holds in several steps."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await _sit_out(task)
        raise


async def stop_once(task: asyncio.Task[Any]) -> None:
    """Cancel a task once, and wait for its end, however often the caller is cancelled meanwhile."""
    task.cancel()
    interrupted = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            interrupted = True
    if not task.cancelled():
        # Who stops it does not care what it broke with.
        task.exception()
    if interrupted:
        raise asyncio.CancelledError


async def run_uninterrupted(work: Coroutine[Any, Any, object]) -> None:
    """Do `work` to its end, however often the caller is cancelled meanwhile."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await _sit_out(task)
        raise


async def _sit_out(task: asyncio.Task[Any]) -> None:
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])


def _remaining(deadline: float) -> float | None:
    return None if deadline == inf else max(0.0, deadline - time.monotonic())
