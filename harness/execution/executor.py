"""Executor of tool calls: cache, the tool itself, time limit and result limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from harness.approval.assessment import Allowed
from harness.approval.interactions import ObservedInteraction
from harness.concurrency import cancel_tasks, is_cancelled
from harness.errors import WorkspaceError
from harness.events import ToolCacheHit
from harness.execution.cache import Lookup, lookup_of
from harness.execution.changed_files import with_changed_files
from harness.execution.context import ExecutionContext
from harness.execution.dependencies import Dependencies
from harness.execution.repeats import without_repetition
from harness.execution.results import UNSTOPPABLE, Results, timed_out
from harness.execution.schedule import ResourceLocks
from harness.execution.spill import limit_result, spill_name
from harness.function_tools.coerce_output import checked_output
from harness.messages import Text, ToolCall
from harness.ports.tool import Delegate, SubagentTask, ToolContext, ToolOutput, failure_of
from harness.user_requests import Plan, PlanDecision
from harness.workspace.path_policy import real_paths

logger = logging.getLogger(__name__)

ProposePlan: TypeAlias = Callable[[Plan], Awaitable[PlanDecision]]
Poll: TypeAlias = Callable[[], Awaitable[None]]


class ToolExecutor:
    """Executes the calls of one reply."""

    def __init__(
        self,
        run: ExecutionContext,
        results: Results,
        propose_plan: ProposePlan,
        poll: Poll | None = None,
        dependencies: Dependencies | None = None,
    ) -> None:
        """Execute the calls of `results`.

        Args:
            run: The run that the calls belong to.
            results: Receives the result of each call.
            propose_plan: Submits a plan to the user.
            poll: Queues new steering messages; called after each call.
            dependencies: Calls that calls wait for.
        """
        self._run = run
        self._results = results
        self._propose_plan = propose_plan
        self._poll = poll
        self._dependencies = dependencies
        self._asking = asyncio.Lock()
        self._polling = asyncio.Lock()
        # Tools announce that the spill folder is readable, which must hold for any workspace.
        run.workspace.allow_reading(run.spill_dir)
        self._task = asyncio.current_task()

    async def execute(self, allowed: Allowed, locks: ResourceLocks, place: int) -> None:
        """Execute a call once nothing conflicts with it. A call that has started gets a result, even if cancelled."""
        run, call = self._run, allowed.call
        with run.calls.running(call.id, run.bus.session_id, partial(self._results.cancel, call)):
            try:
                await locks.acquire(place)
                if not self._may_begin:
                    return
                failed = self._results.failed(self._dependencies.of(call)) if self._dependencies else None
                if failed is not None:
                    self._results.record(
                        call, ToolOutput.failure(f"Skipped: the call of {failed} that it depends on failed.")
                    )
                    return
                await self._begin(allowed)
                if run.hooks and not self._is_stopped:
                    await self._results.publish(call)
                if self._poll and not self._is_stopped:
                    async with self._polling:
                        await self._poll()
            finally:
                locks.release(place)

    def context(self, call: ToolCall) -> ToolContext:
        run, task = self._run, asyncio.current_task()
        user = ObservedInteraction(run.user, self._asking, run.bus, call.id)

        async def propose(plan: Plan) -> PlanDecision:
            async with self._asking:
                return await self._propose_plan(plan)

        return ToolContext(
            call_id=call.id,
            workspace=run.workspace,
            user=user,
            propose_plan=propose,
            spill_dir=run.spill_dir,
            update=lambda view: self._results.update(call, view),
            delegate=self._delegate(call),
            jobs=run.jobs,
            conversation=run.conversation,
            max_result_chars=run.options.execution.max_result_chars,
            on_interrupt=partial(self._results.partials.offer, call),
            add_hooks=run.hooks.add,
            name_of=run.name_of,
            cancellation=lambda: is_cancelled(task) or is_cancelled(self._task),
        )

    def _delegate(self, call: ToolCall) -> Delegate | None:
        """Return the delegate of the run for tasks of this call."""
        delegate = self._run.delegate
        if delegate is None:
            return None

        async def for_this_call(delegation: SubagentTask) -> ToolOutput:
            keep = partial(self._results.partials.offer, call)
            return await delegate(replace(delegation, call_id=call.id, on_interrupt=keep))

        return for_this_call

    @property
    def _is_stopped(self) -> bool:
        """True if the call or the whole run has to stop; the cancellation of a run reaches the call a moment later."""
        return is_cancelled(asyncio.current_task()) or is_cancelled(self._task)

    @property
    def _may_begin(self) -> bool:
        """False if the user steered while the call waited."""
        return self._results.may_begin() and not self._is_stopped

    async def _begin(self, allowed: Allowed) -> None:
        self._results.begin(allowed.call)
        try:
            # After a crash, a call without a recorded start counts as not executed.
            await self._run.bus.flush()
            output = without_repetition(allowed, await self._output(allowed), self._run.sent)
        except asyncio.CancelledError as error:
            if self._is_stopped:
                self._results.interrupt(allowed.call)
                raise
            logger.warning("tool %s was cancelled from within", allowed.call.name)
            output = failure_of(allowed.call, error)
        output = with_changed_files(output, allowed.risk, self._run.workspace)
        if allowed.note:
            output = replace(output, content=(Text(allowed.note), *output.content))
        self._results.record(allowed.call, output)

    async def _output(self, allowed: Allowed) -> ToolOutput:
        lookup = self._lookup(allowed)
        if lookup is None:
            return await self._fresh(allowed)
        cache, turn = self._run.cache, self._run.bus.turn
        kept = cache.find(lookup, turn)
        if kept is not None:
            self._run.bus.publish(ToolCacheHit(call_id=allowed.call.id))
            return kept
        attempt = cache.attempt(lookup)
        output = await self._fresh(allowed)
        cache.keep(attempt, output, turn)
        return output

    def _lookup(self, allowed: Allowed) -> Lookup | None:
        """Return the cache key of the call, or None if it cannot be cached."""
        risk = allowed.risk
        # Background jobs may change anything at any time.
        if not (risk.cacheable and self._run.cache.is_on) or self._run.jobs.running:
            return None
        paths = real_paths(risk.paths, self._run.workspace.root)
        return None if paths is None else lookup_of(allowed.tool.name, allowed.arguments, paths)

    async def _fresh(self, allowed: Allowed) -> ToolOutput:
        run, call = self._run, allowed.call
        try:
            output = checked_output(await self._in_time(allowed))
            spill = run.spill_dir / spill_name("result", call.id)
            return await limit_result(output, run.options.execution.max_result_chars, spill)
        except WorkspaceError as error:
            return ToolOutput.failure(str(error))
        except Exception as error:  # user-supplied tool; may raise. The model gets the error, the run continues
            logger.exception("tool %s failed", call.name)
            return failure_of(call, error)

    async def _in_time(self, allowed: Allowed) -> ToolOutput:
        options, name = self._run.options, allowed.call.name
        seconds = options.execution.timeout_for(name, allowed.risk.level)
        if seconds is None:
            return await self._work(allowed)
        task = asyncio.create_task(self._work(allowed))
        if await _ends_within(task, seconds, options.cancel_grace_s):
            return task.result()
        late = f"timed out after {seconds:g} s"
        error = f"Error: tool '{name}' {late}"
        partial_output = self._results.partials.of(allowed.call)
        return timed_out(partial_output, error if task.done() else f"{error}. {UNSTOPPABLE}", late)

    async def _work(self, allowed: Allowed) -> ToolOutput:
        if self._is_stopped:
            # A subscriber or another call may have stopped the run when this call started.
            raise asyncio.CancelledError
        context = self.context(allowed.call)
        if allowed.readable or allowed.changeable:
            workspace = context.workspace.with_access(readable=allowed.readable, changeable=allowed.changeable)
            context = replace(context, workspace=workspace)
        # An earlier call of the reply may have replaced a file by a link.
        if allowed.real_paths and real_paths(allowed.risk.paths, context.workspace.root) != allowed.real_paths:
            return ToolOutput.failure("A path of this call leads elsewhere than when it was approved. Send it again.")
        if not allowed.risk.changes:
            return await allowed.tool.run(allowed.arguments, context)
        self._run.cache.clear()
        try:
            return await allowed.tool.run(allowed.arguments, context)
        finally:
            # A cancelled call may have changed something as well.
            self._run.cache.clear()


async def _ends_within(task: asyncio.Task[ToolOutput], seconds: float, grace_s: float) -> bool:
    """Return False if a call is late; it is cancelled then, and abandoned if it does not stop."""
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
    return not is_late


def _log_error(task: asyncio.Task[ToolOutput]) -> None:
    """Log the error of an abandoned call."""
    if not task.cancelled() and task.exception() is not None:
        logger.info("a call failed after its time was up", exc_info=task.exception())
