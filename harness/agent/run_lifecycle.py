"""Lifecycle of one run, from its first hook to its last: start it, guard it, end it exactly once."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from harness.agent.guardrails import Reject
from harness.agent.identity import Identity
from harness.agent.loop import append_unsent_prompts, rejected, run_loop
from harness.agent.run_state import AgentResult, Run
from harness.concurrency import call_in, cancel_tasks
from harness.events import AgentEnd, AgentStart
from harness.messages import AssistantMessage

STOPPED = AgentEnd(stop_reason="aborted", error="stopped by the user")


class RunLifecycle:
    """Executes a run in a task of its own, so that `abort` cancels the run and not its caller."""

    def __init__(self, run: Run, identity: Identity, parent_run_id: str) -> None:
        self._run = run
        self._identity = identity
        self._parent_run_id = parent_run_id
        self._task: asyncio.Task[object] | None = None
        self._is_aborted = False

    def abort(self) -> None:
        """Abort the run. Thread-safe."""
        task = self._task
        if task is None:
            self._is_aborted = True
        else:
            call_in(task.get_loop(), task.cancel)

    async def execute(self) -> AgentResult:
        """Execute the run.

        Raises:
            CancelledError: The caller was cancelled; the run has ended properly.
        """
        outcome = AgentEnd(stop_reason="error", error="the run failed")
        try:
            outcome = await self._guarded()
        except asyncio.CancelledError:
            outcome = STOPPED
            raise
        finally:
            end = self._end(outcome)
            await self._after(end)
        return self._result(end)

    async def _guarded(self) -> AgentEnd:
        task = asyncio.create_task(self._work())
        self._task = task
        try:
            await asyncio.wait([task])
        finally:
            try:
                await cancel_tasks([task])
            finally:
                failed = task.cancelled() or task.exception() is not None
                if failed or not task.result().rejection:
                    append_unsent_prompts(self._run)
        return STOPPED if task.cancelled() else task.result()

    async def _work(self) -> AgentEnd:
        run = self._run
        await run.history.load()
        # A fork declares the tools of the session it was made from.
        await run.state.late.freeze(run.state.cache_key or run.bus.session_id, run.state.model_info.context_window)
        messages = (*run.history.messages, *run.request.prompts)
        stop = await run.hooks.before_loop(messages, self._identity.run_count)
        if stop is not None:
            return rejected(stop.reason or "stopped by a hook")
        run.bus.publish(
            AgentStart(
                agent_id=self._identity.agent_id,
                parent_run_id=self._parent_run_id,
                continuation=run.request.continuation,
                spec=run.state.model.spec,
                metadata=run.request.metadata,
                config=run.config,
            )
        )
        run.permissions.store.add_for_run(run.request.rules)
        if run.request.prepare is not None:
            prepared = await run.request.prepare(run)
            if isinstance(prepared, Reject):
                return rejected(prepared.reason)
            self._run = run = replace(run, request=replace(run.request, prompts=prepared))
        work = run.request.work or run_loop
        return await work(run)

    def _end(self, outcome: AgentEnd) -> AgentEnd:
        run = self._run
        run.inbox.reminders.clear()
        if run.parent is None:
            run.permissions.store.end_run()
        failed = outcome.stop_reason == "error"
        run.state.last_error = outcome.error if failed else None
        failure = run.progress.failure if failed else None
        end = replace(
            outcome,
            messages=run.history.since(run.start_index),
            usage=run.meter.ledger.usage,
            error_type=type(failure).__name__ if failure else "",
        )
        run.bus.publish(end)
        return end

    async def _after(self, end: AgentEnd) -> None:
        if not self._run.hooks:
            return
        self._task = None
        task = asyncio.create_task(self._run.hooks.after_loop(end))
        try:
            # A task cancelled before its first step never runs, but the hooks must run on every path.
            await asyncio.sleep(0)
            self._task = task
            if self._is_aborted:
                task.cancel()
            await asyncio.wait([task])
        finally:
            await cancel_tasks([task])

    def _result(self, end: AgentEnd) -> AgentResult:
        reply = next((each for each in reversed(end.messages) if isinstance(each, AssistantMessage)), None)
        return AgentResult(
            end.messages,
            reply.text if reply else "",
            end.stop_reason,
            end.usage,
            end.error,
            end.limit,
            end.rejection,
            self._run.progress.failure if end.stop_reason == "error" else None,
            end.stop_message,
        )
