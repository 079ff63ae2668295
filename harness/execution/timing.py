"""How long a call may take, and what happens to one that takes longer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from harness.agent.options import Execution
from harness.concurrency.cancellation import cancel_tasks
from harness.lazy_dataclass import dataclass
from harness.ports.tool import RiskLevel, ToolOutput

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Its time was up. `stopped` is false where it did not stop when it was told to."""

    stopped: bool


def seconds_for(execution: Execution, tool_name: str, level: RiskLevel) -> float | None:
    """The time a call has. One that touches nothing may be waiting for the person, who has all the time there is."""
    if tool_name in execution.timeouts:
        return execution.timeouts[tool_name]
    return None if level == "none" else execution.timeout


# Any: what a coroutine yields and is sent is asyncio's own affair.
async def within(seconds: float, patience: float, work: Coroutine[Any, Any, ToolOutput]) -> ToolOutput | TimedOut:
    """What the work comes to, or that it was late; then it is cancelled, and left behind when that does not stop it."""
    task = asyncio.create_task(work)
    is_late = False
    try:
        await asyncio.wait([task], timeout=seconds)
        is_late = not task.done()
    except asyncio.CancelledError:
        # What was done by then is not undone.
        if not task.done():
            raise
    finally:
        await cancel_tasks([task], patience)
        task.add_done_callback(_heed)
    return TimedOut(task.done()) if is_late else task.result()


def _heed(task: asyncio.Task[ToolOutput]) -> None:
    """What a call that nobody waits for any more breaks with is only worth a line in the log."""
    if not task.cancelled() and task.exception() is not None:
        logger.info("a call failed after its time was up", exc_info=task.exception())
