"""One batch of calls: decide about each in order, run the allowed ones, answer every one.

A call that changes nothing runs beside the others; calls that mutate run one after another, in call order, so that two
edits of one file or two commands never meet. Results stand in the history in call order, whoever finished first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from harness.approval.leave import Allowed, Refused, decide_call
from harness.errors import WorkspaceError
from harness.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult
from harness.plan import propose_plan
from harness.run import Run
from harness.tool import ToolContext, ToolOutput
from harness.views import View

logger = logging.getLogger(__name__)

INTERRUPTED = "The call was interrupted before it had a result."
STEERED = "Skipped due to queued user message."
GRACE = 0.05
"""Seconds that running calls get to finish when the person steers."""


async def act(run: Run, reply: AssistantMessage) -> tuple[ToolResult, ...]:
    """Answer the calls of a reply. On every path out, cancellation included, each has its result in the history."""
    batch = _Batch(run, reply)
    try:
        await batch.decide()
        await batch.execute()
    finally:
        batch.close()
    return batch.results


class _Batch:
    def __init__(self, run: Run, reply: AssistantMessage) -> None:
        self._run = run
        self._reply = reply
        self._allowed: list[Allowed] = []
        self._started: dict[str, float] = {}
        self._answers: dict[str, ToolResult] = {}
        self._excuse = INTERRUPTED

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(self._answers[call.id] for call in self._reply.tool_calls)

    async def decide(self) -> None:
        for call in self._reply.tool_calls:
            if self._run.inbox.steering:
                self._excuse = STEERED
                return
            decision = await decide_call(self._run, call, self._context(call), self._reply.stop_reason)
            match decision:
                case Allowed():
                    self._allowed.append(decision)
                case Refused(output):
                    self._answer(call, output)

    async def execute(self) -> None:
        """Run what is allowed; a steering message stops what is not done after a moment's grace."""
        if not self._allowed:
            return
        async with asyncio.TaskGroup() as group:
            readers = [group.create_task(self._call(each)) for each in self._allowed if not each.tool.mutates]
            writers = [each for each in self._allowed if each.tool.mutates]
            working = [*readers, group.create_task(self._in_order(writers))]
            watcher = group.create_task(self._watch(working))
            await asyncio.wait(working)
            watcher.cancel()

    def close(self) -> None:
        """Answer what has no answer yet, and put all answers into the history, in call order."""
        for call in self._reply.tool_calls:
            if call.id not in self._answers:
                self._answer(call, ToolOutput.failure(self._excuse))
            self._run.history.append(self._answers[call.id])

    async def _watch(self, working: list[asyncio.Task[None]]) -> None:
        await self._run.inbox.steering.arrival()
        self._excuse = STEERED
        await asyncio.sleep(GRACE)
        for task in working:
            task.cancel()

    async def _in_order(self, writers: list[Allowed]) -> None:
        for writer in writers:
            if self._excuse == STEERED:
                return
            await self._call(writer)

    async def _call(self, allowed: Allowed) -> None:
        self._start(allowed.call)
        try:
            output = await allowed.tool.run(allowed.arguments, self._context(allowed.call))
        except asyncio.CancelledError:
            self._answer(allowed.call, ToolOutput.failure(self._excuse))
            raise
        except WorkspaceError as error:
            output = ToolOutput.failure(str(error))
        except Exception as error:  # a tool is a stranger's code: its failure is told to the model, the run goes on
            logger.exception("tool %s failed", allowed.call.name)
            output = ToolOutput.failure(f"{allowed.call.name} failed: {type(error).__name__}: {error}")
        if allowed.note:
            output = replace(output, content=(Text(allowed.note), *output.content))
        self._answer(allowed.call, output)

    def _start(self, call: ToolCall) -> None:
        tool = next((each for each in self._run.state.tools if each.name == call.name), None)
        label = tool.label if tool else call.name
        summary = tool.summary(call.arguments) if tool else ""
        self._started[call.id] = time.monotonic()
        self._run.bus.publish(ToolExecutionStart(call=call, label=label, summary=summary))

    def _answer(self, call: ToolCall, output: ToolOutput) -> None:
        ran = call.id in self._started
        if not ran:
            self._start(call)
        content = output.content or (Text("(no output)"),)
        result = ToolResult(call.id, call.name, content, output.is_error, output.details, output.view)
        self._answers[call.id] = result
        duration = time.monotonic() - self._started[call.id] if ran else 0.0
        self._run.bus.publish(ToolExecutionEnd(result=result, duration=duration))

    def _context(self, call: ToolCall) -> ToolContext:
        run = self._run

        def update(view: View) -> None:
            run.bus.publish(ToolExecutionUpdate(call_id=call.id, view=view))

        return ToolContext(
            call_id=call.id,
            workspace=run.workspace,
            person=run.person,
            propose_plan=lambda plan: propose_plan(run, plan),
            spill_dir=run.spill_dir,
            update=update,
        )
