"""Time limits of tool calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from msgspec import Struct

from harness.concurrency.cancellation import cancel_tasks
from harness.execution.context import Execution
from harness.ports.tool import ToolOutput
from harness.risk import RiskLevel

logger = logging.getLogger(__name__)


class TimedOut(Struct, frozen=True):
    """The time limit was exceeded."""

    stopped: bool
    """False if the call did not stop when it was cancelled."""


def seconds_for(execution: Execution, tool_name: str, level: RiskLevel) -> float | None:
    """Return the time limit of a call in seconds. Calls of level `none` may wait for the user, so they have none."""
    if tool_name in execution.timeouts:
        return execution.timeouts[tool_name]
    return None if level == "none" else execution.timeout


# Any: what a coroutine yields and receives is internal to asyncio.
async def within(seconds: float, grace_s: float, work: Coroutine[Any, Any, ToolOutput]) -> ToolOutput | TimedOut:
    """Return the result of `work`, or `TimedOut`; work that does not stop when cancelled is abandoned."""
    task = asyncio.create_task(work)
    is_late = False
    try:
        await asyncio.wait([task], timeout=seconds)
        is_late = not task.done()
    except asyncio.CancelledError:
        # Work that is done by then is not lost.
        if not task.done():
            raise
    finally:
        await cancel_tasks([task], grace_s)
        task.add_done_callback(_log_error)
    return TimedOut(task.done()) if is_late else task.result()


def _log_error(task: asyncio.Task[ToolOutput]) -> None:
    """Log the error of an abandoned call."""
    if not task.cancelled() and task.exception() is not None:
        logger.info("a call failed after its time was up", exc_info=task.exception())
