"""Cancelling tasks and processes, and waiting for their end."""

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
            await asyncio.wait(pending, timeout=_remaining(deadline))
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


def raise_if_cancelled() -> None:
    """Raise a cancellation of this task that user-supplied code has swallowed."""
    if is_cancelled(asyncio.current_task()):
        raise asyncio.CancelledError


def is_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Return True if a task was cancelled, as opposed to code that raised a `CancelledError` of its own."""
    return task is not None and task.cancelling() > 0


async def run_cancelled_once(work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of `work`. However often the caller is cancelled, `work` is cancelled once and awaited.

    This lets it release resources in several steps.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await _wait_for_end(task)
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
        # Retrieve the exception, which is of no interest here.
        task.exception()
    if interrupted:
        raise asyncio.CancelledError


async def run_uninterrupted(work: Coroutine[Any, Any, object]) -> None:
    """Run `work` to its end, however often the caller is cancelled meanwhile."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await _wait_for_end(task)
        raise


async def _wait_for_end(task: asyncio.Task[Any]) -> None:
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])


def _remaining(deadline: float) -> float | None:
    return None if deadline == inf else max(0.0, deadline - time.monotonic())
