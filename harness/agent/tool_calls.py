"""One batch of calls: decide about each in order, run the allowed ones, answer every one.

Calls run together unless they get in each other's way; results stand in the history in call order, whoever finished
first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.agent.run import Run
from harness.approval.assessment import Allowed, PendingApproval, RejectedCall
from harness.approval.batch import Batch
from harness.approval.decide import decide_call, preview_call
from harness.concurrency.cancellation import cancel_tasks, raise_if_cancelled
from harness.execution.executor import ToolExecutor
from harness.execution.results import Results
from harness.execution.schedule import groups_of, locks_for
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, ToolCall, ToolResult

STEERING_GRACE_S = 0.05
"""Seconds that running calls get to finish once a steering message interrupts them."""


@dataclass(frozen=True, slots=True)
class ToolCallResults:
    """The answers to a reply's calls, in their order; `ends_run`: one of them says that the model need not go on."""

    results: tuple[ToolResult, ...]
    ends_run: bool = False


async def execute_tool_calls(run: Run, reply: AssistantMessage) -> ToolCallResults:
    """Answer the calls of a reply. On every path out, cancellation included, each has its result in the history."""
    batch = _Batch(run, reply)
    try:
        await run.inbox.interruption.guard(batch.decide())
        await batch.execute()
    finally:
        batch.answers.close()
        await batch.answers.publish_remaining(run.options.cancel_grace_s)
    return ToolCallResults(batch.answers.results, batch.answers.ends_run)


async def skip_tool_calls(run: Run, reply: AssistantMessage) -> None:
    """Answer the calls of a reply that nobody acts on any more."""
    answers = Results(run, reply.tool_calls)
    if run.inbox.interruption:
        answers.may_begin()
    answers.close()
    await answers.publish_remaining(run.options.cancel_grace_s)


class _Batch:
    def __init__(self, run: Run, reply: AssistantMessage) -> None:
        self.answers = Results(run, reply.tool_calls)
        self._run = run
        self._reply = reply
        self._caller = ToolExecutor(run, self.answers)
        self._allowed: list[Allowed] = []

    async def decide(self) -> None:
        """Ask about the calls in their order, before any of them runs. Once the user steers, nothing more is."""
        batch = Batch(self._run, self._reply.tool_calls, self._preview)
        for call in self._reply.tool_calls:
            if not self.answers.may_begin():
                return
            match await decide_call(self._run, call, self._caller.context(call), self._reply.stop_reason, batch):
                case Allowed() as allowed:
                    self._allowed.append(allowed)
                case RejectedCall(output):
                    self.answers.give(call, output)
                    await self.answers.publish_remaining()
            raise_if_cancelled()

    async def _preview(self, call: ToolCall) -> PendingApproval | None:
        return await preview_call(self._run, call, self._caller.context(call), self._reply.stop_reason)

    async def execute(self) -> None:
        """Run what is allowed, group by group. What has not begun when the user steers does not begin."""
        for group in groups_of(self._allowed, self._run.options.execution.concurrency):
            if not self.answers.may_begin():
                break
            await self._run_together(group)
            raise_if_cancelled()
        self.answers.may_begin()

    async def _run_together(self, group: Sequence[Allowed]) -> None:
        floor = locks_for(group, self._run.workspace.root)
        tasks = [asyncio.create_task(self._caller.execute(each, floor, place)) for place, each in enumerate(group)]
        try:
            await self._wait(tasks)
        finally:
            await self._stop(tasks)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def _wait(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Wait for the end of all calls, or until the user interrupts them."""
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
        """Polled after each completed call: whether a steering message cancels the others."""
        return self._run.options.steering_mode == "interrupt" and not self.answers.may_begin()

    async def _stop(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Cancel what still runs and wait for its end. What does not end is left behind, so that the person is not."""
        try:
            await cancel_tasks(tasks, self._run.options.cancel_grace_s)
        finally:
            self.answers.abandon_running()
