"""One batch of calls: decide about each in order, run the allowed ones, answer every one.

A call that changes nothing runs beside the others; calls that mutate run one after another, in call order, so that two
edits of one file or two commands never meet. Results stand in the history in call order, whoever finished first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace

from harness.approval.leave import Allowed, Refused, decide_call
from harness.errors import WorkspaceError
from harness.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult
from harness.plan import propose_plan
from harness.run import Run
from harness.stopping import stop_tasks
from harness.tool import Tool, ToolContext, ToolOutput
from harness.views import View

logger = logging.getLogger(__name__)

INTERRUPTED = "The call was interrupted before it had a result."
STEERED = "Skipped due to queued user message."
UNSTOPPABLE = "The call did not stop when it was told to; it may still be doing something."
GRACE = 0.05
"""Seconds that running calls get to finish when the person steers."""


@dataclass(frozen=True, slots=True)
class Acted:
    """The answers to a reply's calls, in their order; `ends_run`: one of them says that the model need not go on."""

    results: tuple[ToolResult, ...]
    ends_run: bool = False


async def act(run: Run, reply: AssistantMessage) -> Acted:
    """Answer the calls of a reply. On every path out, cancellation included, each has its result in the history."""
    batch = _Batch(run, reply)
    try:
        await batch.decide()
        await batch.execute()
    finally:
        batch.close()
    return Acted(batch.results, batch.ends_run)


class _Batch:
    def __init__(self, run: Run, reply: AssistantMessage) -> None:
        self._run = run
        self._reply = reply
        self._allowed: list[Allowed] = []
        self._started: dict[str, float] = {}
        self._answers: dict[str, ToolResult] = {}
        self._excuse = INTERRUPTED
        self.ends_run = False

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(self._answers[call.id] for call in self._reply.tool_calls)

    async def decide(self) -> None:
        for call in self._reply.tool_calls:
            if self._run.inbox.steering:
                return
            match await self._decision(call):
                case Allowed() as allowed:
                    self._allowed.append(allowed)
                case Refused(output):
                    self._answer(call, output)

    async def execute(self) -> None:
        """Run what is allowed; a steering message stops what is not done after a moment's grace."""
        if self._run.inbox.steering:
            # Said while a question was open: what was allowed before it was said does not even begin.
            self._excuse = STEERED
        elif self._allowed:
            await self._execute(self._work())

    def _work(self) -> list[asyncio.Task[None]]:
        readers = [asyncio.create_task(self._call(each)) for each in self._allowed if not each.tool.mutates]
        writers = [each for each in self._allowed if each.tool.mutates]
        return [*readers, asyncio.create_task(self._in_order(writers))]

    async def _execute(self, working: list[asyncio.Task[None]]) -> None:
        finished = asyncio.create_task(_all_done(working))
        steered = asyncio.create_task(self._run.inbox.steering.arrival())
        try:
            await asyncio.wait([finished, steered], return_when=asyncio.FIRST_COMPLETED)
            if not finished.done():
                self._excuse = STEERED
                await asyncio.wait([finished], timeout=GRACE)
        finally:
            await self._stop([*working, finished, steered])
        for task in working:
            if task.done() and not task.cancelled():
                task.result()

    async def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        """Cancel what still runs and wait for its end. What does not end is left behind, so that the person is not."""
        try:
            await stop_tasks(tasks, self._run.options.patience)
        finally:
            for call_id in self._started.keys() - self._answers.keys():
                call = next(each for each in self._reply.tool_calls if each.id == call_id)
                logger.warning("tool %s did not stop when it was cancelled", call.name)
                self._answer(call, ToolOutput.failure(UNSTOPPABLE))

    def close(self) -> None:
        """Answer what has no answer yet, and put all answers into the history, in call order."""
        for call in self._reply.tool_calls:
            if call.id not in self._answers:
                self._answer(call, ToolOutput.failure(self._excuse))
            self._run.history.append(self._answers[call.id])

    async def _decision(self, call: ToolCall) -> Allowed | Refused:
        try:
            return await decide_call(self._run, call, self._context(call), self._reply.stop_reason)
        except Exception as error:  # as in `_call`; what could not be judged does not run
            logger.exception("tool %s could not be judged", call.name)
            return Refused(_failure(call, error))

    async def _in_order(self, writers: list[Allowed]) -> None:
        for writer in writers:
            if self._excuse == STEERED:
                return
            await self._call(writer)

    async def _call(self, allowed: Allowed) -> None:
        self._start(allowed.call)
        try:
            output = await allowed.tool.run(allowed.arguments, self._context(allowed.call))
        except asyncio.CancelledError as error:
            if _is_cancelled():
                self._answer(allowed.call, ToolOutput.failure(self._excuse))
                raise
            logger.warning("tool %s was cancelled from within", allowed.call.name)
            output = _failure(allowed.call, error)
        except WorkspaceError as error:
            output = ToolOutput.failure(str(error))
        except Exception as error:  # a tool is a stranger's code: its failure is told to the model, the run goes on
            logger.exception("tool %s failed", allowed.call.name)
            output = _failure(allowed.call, error)
        if allowed.note:
            output = replace(output, content=(Text(allowed.note), *output.content))
        self._answer(allowed.call, output)

    def _start(self, call: ToolCall) -> None:
        tool = self._run.tool(call.name)
        label = tool.label if tool else call.name
        self._started[call.id] = time.monotonic()
        self._run.bus.publish(ToolExecutionStart(call=call, label=label, summary=_summary(tool, call)))

    def _answer(self, call: ToolCall, output: ToolOutput) -> None:
        """Give a call its one answer; what a call says after it was given up is not heard."""
        if call.id in self._answers:
            return
        ran = call.id in self._started
        if not ran:
            self._start(call)
        content = output.content or (Text("(no output)"),)
        self.ends_run = self.ends_run or output.ends_run
        result = ToolResult(call.id, call.name, content, output.is_error, output.details, output.view)
        self._answers[call.id] = result
        duration = time.monotonic() - self._started[call.id] if ran else 0.0
        self._run.bus.publish(ToolExecutionEnd(result=result, duration=duration))

    def _context(self, call: ToolCall) -> ToolContext:
        run = self._run

        def update(view: View) -> None:
            if call.id not in self._answers:
                run.bus.publish(ToolExecutionUpdate(call_id=call.id, view=view))

        return ToolContext(
            call_id=call.id,
            workspace=run.workspace,
            person=run.person,
            propose_plan=lambda plan: propose_plan(run, plan),
            spill_dir=run.spill_dir,
            update=update,
        )


async def _all_done(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)


def _is_cancelled() -> bool:
    """Whether this task was told to stop: a tool may also cancel something of its own, and stumble over that."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failure(call: ToolCall, error: BaseException) -> ToolOutput:
    return ToolOutput.failure(f"{call.name} failed: {type(error).__name__}: {error}")


def _summary(tool: Tool | None, call: ToolCall) -> str:
    try:
        return tool.summary(call.arguments) if tool else ""
    except Exception:  # a stranger's code once more: a call without a summary still needs its answer
        logger.exception("tool %s has no summary", call.name)
        return ""
