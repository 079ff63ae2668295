"""Execution of single tool calls for another program, under the rules of an agent and without a model."""

from __future__ import annotations

import asyncio

from harness.agent.agent_base import AgentBase
from harness.agent.run_state import Run, RunRequest
from harness.agent.single_call import execute_call
from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import APPROVAL_MODES, ApprovalMode
from harness.approval.paths import PathFacts
from harness.approval.policy import Permissions
from harness.concurrency import cancel_tasks
from harness.events import AgentEnd
from harness.execution.schedule import ResourceLocks
from harness.messages import ToolCall, ToolResult
from harness.permissions import SHELL


class ToolSession:
    """Executes calls as the turns of an agent would: validation, approval, hooks, locks, limits on time and results.

    Calls run concurrently unless they conflict. The session is one run of the agent; its calls are not added to the
    history, since no model sees them.
    """

    def __init__(self, agent: AgentBase) -> None:
        self._agent = agent
        self._end = asyncio.Event()
        self._locks = ResourceLocks(())
        self._calls: set[asyncio.Task[ToolResult]] = set()
        self._active: Run | None = None
        self._run: asyncio.Task[object] | None = None

    async def __aenter__(self) -> ToolSession:
        """Start the run.

        Raises:
            AlreadyRunning: A run of the agent is active.
        """
        begun = asyncio.Event()
        self._agent.state.jobs.has_reader = False

        async def work(run: Run) -> AgentEnd:
            self._active = run
            begun.set()
            await self._end.wait()
            return AgentEnd(stop_reason="stop")

        self._run = asyncio.create_task(self._agent.run(RunRequest(work=work)))
        waiting = asyncio.create_task(begun.wait())
        await asyncio.wait([self._run, waiting], return_when=asyncio.FIRST_COMPLETED)
        await cancel_tasks([waiting])
        if self._run.done():
            self._run.result()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the running calls and end the run."""
        await cancel_tasks([*self._calls], self._agent.options.cancel_grace_s)
        self._end.set()
        self._agent.state.jobs.has_reader = True
        if self._run is not None:
            await asyncio.wait([self._run])

    async def execute(self, call: ToolCall) -> ToolResult:
        """Execute a call and return its result; a denied or failed call has one, too.

        Raises:
            CancelledError: The caller was cancelled; the call has stopped, with all its processes.
        """
        task = asyncio.create_task(execute_call(self._run_in_progress, call, self._locks))
        self._calls.add(task)
        try:
            await asyncio.wait([task])
        finally:
            await cancel_tasks([task], self._agent.options.cancel_grace_s)
            self._calls.discard(task)
        return task.result()

    def mode_allowing(self, call: ToolCall) -> ApprovalMode | None:
        """Return the strictest approval mode that would allow a call without asking; None if no mode does."""
        run = self._run_in_progress
        present = run.permissions
        for mode in filter(present.allows_mode, APPROVAL_MODES):
            permissions = Permissions(present.mode, mode, present.store, present.policy, present.loosest)
            decision = explain(CallSettings(permissions, run.workspace, run.state.known_tools), call)
            if decision.kind == "allow":
                risk, places = decision.risk, PathFacts(run.workspace).places_outside
                is_outside = places(risk, writing=False) or places(risk, writing=True)
                # Without approval, tools other than commands stay in the workspace.
                return None if mode == "off" and is_outside and call.name != SHELL else mode
        return None

    @property
    def _run_in_progress(self) -> Run:
        assert self._active is not None, "the session has not begun"
        return self._active
