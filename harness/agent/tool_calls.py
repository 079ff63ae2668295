"""Execution of the tool calls of one reply: decide on each in order, run the allowed ones, give each a result.

Calls run concurrently unless they conflict. Results are added to the history in call order, in whatever order the calls
finish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from harness.agent.later_instructions import add_instructions
from harness.agent.planning import propose_plan
from harness.agent.polling import poll_steering
from harness.agent.run_state import Run
from harness.approval.assessment import DEPENDS_ON, Allowed
from harness.approval.batch import Batch
from harness.approval.decide import decide_call, preview_call
from harness.concurrency import cancel_tasks, raise_if_cancelled
from harness.execution.dependencies import Dependencies
from harness.execution.executor import ToolExecutor
from harness.execution.results import Results
from harness.execution.schedule import groups_of, locks_for
from harness.messages import AssistantMessage, ToolCall
from harness.ports.hooks import Block
from harness.ports.tool import ToolOutput
from harness.risk import Risk

STEERING_GRACE_S = 0.05
"""Seconds that running calls get to finish once a steering message interrupts them."""


async def execute_tool_calls(run: Run, reply: AssistantMessage) -> Results:
    """Execute the calls of a reply. On every path, cancellation included, each call has a result in the history."""
    batch = _Batch(run, reply)
    try:
        await run.inbox.interruption.guard(batch.decide())
        await batch.execute()
    finally:
        batch.results.close()
        await batch.results.publish_remaining(run.options.cancel_grace_s)
    await add_instructions(run, batch.succeeded_risks)
    return batch.results


async def skip_tool_calls(run: Run, reply: AssistantMessage) -> None:
    """Give each call of a reply a result without executing any."""
    results = Results(run, reply.tool_calls)
    if run.inbox.interruption:
        results.may_begin()
    results.close()
    await results.publish_remaining(run.options.cancel_grace_s)


def _dependencies(run: Run, calls: Sequence[ToolCall]) -> Dependencies | None:
    if all(DEPENDS_ON not in call.arguments for call in calls):
        return None
    tools = {call.name: run.tool(call.name) for call in calls}
    return Dependencies(calls, {name: tool.parameters for name, tool in tools.items() if tool is not None})


class _Batch:
    def __init__(self, run: Run, reply: AssistantMessage) -> None:
        self.results = Results(run, reply.tool_calls)
        self._run = run
        self._reply = reply
        self._dependencies = _dependencies(run, reply.tool_calls)
        poll = partial(poll_steering, run) if run.options.get_steering_messages else None
        self._executor = ToolExecutor(run, self.results, partial(propose_plan, run), poll, self._dependencies)
        self._allowed: list[Allowed] = []

    @property
    def succeeded_risks(self) -> list[Risk]:
        """Risk assessments of the calls that ran without an error; valid once the results are closed."""
        failed = {each.call_id for each in self.results.results if each.is_error}
        return [each.risk for each in self._allowed if each.call.id not in failed]

    async def decide(self) -> None:
        """Decide on the calls in order, before any of them runs. Stops when a steering message arrives."""
        run, calls, stop_reason = self._run, self._reply.tool_calls, self._reply.stop_reason
        context = self._executor.context
        batch = Batch(run, calls, lambda call: preview_call(run, call, context(call), stop_reason))
        for call in calls:
            if not self.results.may_begin():
                return
            if self._dependencies is not None and (problem := self._dependencies.problem(call)):
                self.results.record(call, ToolOutput.failure(f"{problem}, so it did not run."))
                continue
            match await decide_call(run, call, context(call), stop_reason, batch):
                case Allowed() as allowed:
                    self._allowed.append(allowed)
                case Block(reason):
                    self.results.block(call, reason)
                case output:
                    self.results.record(call, output)
                    await self.results.publish_remaining()
            raise_if_cancelled()

    async def execute(self) -> None:
        """Run the allowed calls, group by group. Calls that have not started when the user steers are skipped."""
        allowed = self._dependencies.ordered(self._allowed) if self._dependencies else self._allowed
        for group in groups_of(allowed, self._run.options.execution, self._dependencies):
            if not self.results.may_begin():
                break
            await self._run_together(group)
            raise_if_cancelled()
        self.results.may_begin()

    async def _run_together(self, group: Sequence[Allowed]) -> None:
        locks = locks_for(group, self._run.workspace.root, self._dependencies)
        tasks = [asyncio.create_task(self._executor.execute(each, locks, place)) for place, each in enumerate(group)]
        try:
            await self._wait(tasks)
        finally:
            await self._stop(tasks)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def _wait(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Wait until all calls have ended, or the user interrupts them."""
        running: list[asyncio.Future[None]] = list(tasks)
        with self._run.inbox.interruption.waiter() as interruption:
            while running:
                await asyncio.wait([*running, interruption], return_when=asyncio.FIRST_COMPLETED)
                running = [task for task in running if not task.done()]
                if interruption.done() or (running and self._is_steered_away):
                    break
            if running and not interruption.done():
                await asyncio.wait(running, timeout=STEERING_GRACE_S)

    @property
    def _is_steered_away(self) -> bool:
        """True if a steering message cancels the running calls; polled after each completed call."""
        return self._run.options.steering_mode == "interrupt" and not self.results.may_begin()

    async def _stop(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Cancel the running calls and wait for their end. Calls that do not end in time are abandoned."""
        try:
            await cancel_tasks(tasks, self._run.options.cancel_grace_s)
        finally:
            self.results.abandon_running()
