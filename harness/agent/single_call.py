"""Execution of a tool call that no model made, under the rules of a run."""

from __future__ import annotations

from functools import partial

from harness.agent.planning import propose_plan
from harness.agent.run_state import Run
from harness.approval.assessment import Allowed
from harness.approval.batch import Batch
from harness.approval.decide import decide_call
from harness.execution.executor import ToolExecutor
from harness.execution.results import STOPPED, Results
from harness.execution.schedule import ResourceLocks, claim_of
from harness.messages import ToolCall, ToolResult
from harness.ports.hooks import Block
from harness.ports.tool import ToolOutput


async def execute_call(run: Run, call: ToolCall, locks: ResourceLocks) -> ToolResult:
    """Execute a call as a turn of the run would, and return its result, which is not added to the history.

    A denied or failed call has a result, too.

    Args:
        run: The run.
        call: The call.
        locks: Locks of the calls that run at the same time.
    """
    results = Results(run, [call])
    executor = ToolExecutor(run, results, partial(propose_plan, run))
    try:
        match await decide_call(run, call, executor.context(call), "tool_use", Batch(run)):
            case Allowed() as allowed:
                place = locks.add(claim_of(allowed.risk, run.workspace.root))
                await executor.execute(allowed, locks, place)
            case Block(reason):
                results.block(call, reason)
            case output:
                results.record(call, output)
    finally:
        results.record(call, ToolOutput.failure(STOPPED))
        await results.publish_remaining(run.options.cancel_grace_s)
    return results.results[0]
