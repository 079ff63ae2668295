"""Stopping tasks, and waiting until they have stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from math import inf
from typing import Any, TypeVar

_T = TypeVar("_T")


async def stop_tasks(tasks: Sequence[asyncio.Task[_T]], patience: float = inf) -> None:
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


def pass_cancellation() -> None:
    """Let a cancellation of this task pass that a stranger's code has swallowed."""
    if is_cancelled(asyncio.current_task()):
        raise asyncio.CancelledError


def is_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Whether a task was told to stop: a stranger's code may as well stumble over a cancellation of its own."""
    return task is not None and task.cancelling() > 0


def _remaining(deadline: float) -> float | None:
    return None if deadline == inf else max(0.0, deadline - time.monotonic())
