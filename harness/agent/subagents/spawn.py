"""Subagents: each has its own history and bus, and the permissions of the agent it works for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from msgspec.structs import replace

from harness.agent.agent_base import AgentBase
from harness.agent.late_tools import LateTools
from harness.agent.limits import Limits
from harness.agent.run_state import Run, RunRequest, State
from harness.agent.subagents.agent_tool import SubagentTool
from harness.agent.subagents.limits import (
    SPENT,
    ConcurrencySlot,
    SharedLimits,
    SpawnContext,
    TokenReservation,
    inherited,
)
from harness.agent.subagents.reporting import Relay, outcome, stopped
from harness.approval.interactions import AttributedInteraction, SharedInteraction
from harness.approval.modes import SUBMIT_PLAN, Planning, tools_of
from harness.context.tokens import estimate_overhead, estimate_text
from harness.events import Event, TurnStart
from harness.instructions.prompts import prompt_text
from harness.messages import new_id, user
from harness.ports.interaction import NonInteractive
from harness.ports.tool import Delegate, Role, SubagentTask, Tool, ToolOutput, renewed_tools, specs_of
from harness.views import TextView

DELEGATE = "delegate_subagent"
NAME_CHARS = 40
USUAL_TURNS = 5
"""Number of times the first request is counted to estimate the tokens of a subagent."""


def with_delegate(run: Run, context: SpawnContext | None, agent_class: type[AgentBase]) -> Run:
    """Return the run with a delegate, unless it has reached the maximum depth.

    Args:
        run: The run.
        context: Link to the parent's run; None unless the run is a subagent's.
        agent_class: Class of the subagents.
    """
    if context is None:
        limits = SharedLimits(run.options.subagents)
        run = replace(run, user=SharedInteraction(run.user, limits.asking))
    else:
        limits = context.limits
        run = replace(run, parent=context.parent)
    if len(run.ancestors) > limits.limits.max_depth:
        return run
    return replace(run, delegate=Spawner(run, limits, context.slot if context else None, agent_class))


class Spawner(Delegate):
    """Starts the subagents of one run. `slot` is the concurrency slot of the run itself, if it is a subagent's."""

    def __init__(
        self, run: Run, limits: SharedLimits, slot: ConcurrencySlot | None, agent_class: type[AgentBase]
    ) -> None:
        self._run = run
        self._limits = limits
        self._slot = slot
        self._agent_class = agent_class

    async def __call__(self, delegation: SubagentTask) -> ToolOutput:
        """Run a subagent. An error is a text for the model; cancellation leaves nothing running."""
        run, budget = self._run, self._limits.budget
        unknown = _unknown(delegation.tools, tools_of(run.state.mode, self._nameable(delegation.role)))
        if unknown:
            return ToolOutput.failure(unknown)
        async with self._slot.released() if self._slot else nullcontext():
            # Tokens are reserved before the slot, because the holder of a slot must be able to continue. For the same
            # reason, subagents wait for tokens only if no holder of a reservation waits for them.
            wanted = self._estimate(delegation) if budget.limit else 0
            reservation = await budget.acquire(wanted, waits=self._slot is None)
            if reservation is None:
                return ToolOutput.failure(f"{SPENT} Do the task yourself.")
            try:
                if self._limits.slots.locked():
                    delegation.update(TextView("waiting for other subagents"))
                async with ConcurrencySlot(self._limits.slots) as slot:
                    return await self._work(delegation, reservation, slot)
            finally:
                reservation.close()
                # The subagent may have changed files.
                run.cache.clear()

    async def _work(self, delegation: SubagentTask, reservation: TokenReservation, slot: ConcurrencySlot) -> ToolOutput:
        child = self._child(delegation, reservation)
        child.spawn_context = SpawnContext(self._run, self._limits, slot)
        child.subscribe(Relay(self._run.bus, delegation, deltas=self._limits.limits.deltas))
        child.add_drain(self._run.bus.flush)
        if not delegation.role.tools:
            child.subscribe(partial(self._restrict_tools, child.state))
        who, limit = _who(delegation), self._limits.limits.result_chars
        delegation.on_interrupt(lambda: stopped(child.identity, child.history.messages, who, limit))
        try:
            result = await child.run(RunRequest((user(delegation.task),), trigger="subagent"))
        finally:
            left = child.jobs.transfer_to(self._run.state.jobs)
        return outcome(child.identity, result, who, limit, left)

    def _child(self, delegation: SubagentTask, reservation: TokenReservation) -> AgentBase:
        run, role, session_id = self._run, delegation.role, new_id()
        options = replace(
            run.options,
            workspace=run.workspace.with_own_reads(),
            user=AttributedInteraction(run.user, _who(delegation)) if role.asks else NonInteractive(),
            limits=Limits(max_turns=_smallest_limit(delegation.max_turns, self._limits.limits.max_turns)),
            # The planning phase is its caller's; its own turns are limited above.
            planning=Planning(max_turns=0),
            hooks=inherited(run, reservation, session_id, role),
            execution=replace(run.options.execution, cache_entries=0),
            config_id="sub",
            get_steering_messages=None,
            get_follow_up_messages=None,
            session_id=session_id,
            messages=(),
            routing=None if role.model else run.options.routing,
            spill_dir=run.spill_dir / session_id,
            # It must stop before its parent abandons it.
            cancel_grace_s=run.options.cancel_grace_s / 2,
        )
        tools = renewed_tools(self._offered(delegation))
        child = self._agent_class(role.model or run.state.model, tools, self._system(role), options)
        child.state.permissions = run.state.permissions
        if not (role.tools or role.selects_tools or delegation.tools):
            child.state.late = LateTools(run.state.late.sources)
        child.state.pause = run.state.pause
        child.state.context.calibration = run.state.context.calibration
        child.state.calls = run.state.calls
        child.state.jobs = run.state.jobs.for_child(child.inbox.news)
        child.state.jobs.name_of = child.state.name_of
        if not role.model:
            child.state.max_tokens = run.state.max_tokens
            child.state.context.budget = run.state.context.budget
        child.identity.parent_run_id = run.bus.run_id
        return child

    def _restrict_tools(self, state: State, event: Event) -> None:
        """Remove tools from a subagent that its parent no longer has."""
        if isinstance(event, TurnStart):
            # By name: a source that reconnects has new objects of the same tools.
            names = {tool.name for tool in self._run.state.callable_tools}
            state.tools = [tool for tool in state.tools if tool.name in names]

    def _offered(self, delegation: SubagentTask) -> list[Tool]:
        """Return the tools of a subagent, without those of sources that it inherits."""
        if delegation.tools:
            return [tool for tool in self._nameable(delegation.role) if tool.name in delegation.tools]
        return (self._nameable if delegation.role.selects_tools else self._tools)(delegation.role)

    def _tools(self, role: Role) -> list[Tool]:
        """Return the tools of the agent or of the role; only its parent may submit a plan."""
        is_last = len(self._run.ancestors) >= self._limits.limits.max_depth
        tools = [tool for tool in role.tools or self._run.state.tools if tool.name != SUBMIT_PLAN]
        return [each for each in tools if not (is_last and (each.name == DELEGATE or isinstance(each, SubagentTool)))]

    def _nameable(self, role: Role) -> list[Tool]:
        """Return the tools that a task may name."""
        tools = [*self._tools(role), *(() if role.tools else self._run.state.late.tools)]
        return [tool for tool in tools if role.allows(tool)]

    def _system(self, role: Role) -> str:
        own, addendum = role.system_prompt or self._run.state.system_prompt, prompt_text("subagent")
        return own if addendum in own else f"{own}\n\n{addendum}"

    def _estimate(self, delegation: SubagentTask) -> int:
        role = delegation.role
        request = estimate_overhead(self._system(role), specs_of(self._offered(delegation))) + estimate_text(
            delegation.task
        )
        return USUAL_TURNS * request


def _unknown(names: Sequence[str], tools: Sequence[Tool]) -> str:
    """Return an error text for unknown tool names; empty if all are known."""
    known = [tool.name for tool in tools]
    unknown = sorted(set(names).difference(known))
    if not unknown:
        return ""
    choice = f"name some of {', '.join(known)}, or none for all of them" if known else "no tools are available"
    return f"A subagent cannot have {', '.join(unknown)}: {choice}."


def _who(delegation: SubagentTask) -> str:
    """Return the name of a subagent for users; the model chose it, so it is cleaned."""
    return f"Subagent {' '.join(delegation.name.split())[:NAME_CHARS]}".strip()


def _smallest_limit(*limits: int) -> int:
    """Return the smallest limit that is set, or 0 if none is."""
    return min((each for each in limits if each), default=0)
