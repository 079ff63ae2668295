"""Sub-agents: each has a history and bus of its own, and no leave but that of the one it works for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from harness.agent.identity import Identity
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt
from harness.agent.result import AgentResult
from harness.agent.run import Run, State
from harness.agent.subagents.agent_tool import SubAgentTool
from harness.agent.subagents.inherited import inherited
from harness.agent.subagents.limits import SPENT, ConcurrencySlot, SharedLimits, TokenReservation
from harness.agent.subagents.outcome import outcome, stopped
from harness.agent.subagents.relay import Relay
from harness.approval.interactions import AttributedInteraction, SharedInteraction
from harness.approval.modes import SUBMIT_PLAN, Planning, tools_of
from harness.context.history import History
from harness.context.tokens import estimate_overhead, estimate_text
from harness.events import Event, TurnStart
from harness.inbox import Inbox
from harness.instructions.prompts import prompt_text
from harness.jobs import Jobs
from harness.lazy_dataclass import dataclass
from harness.messages import new_id
from harness.ports.provider import Model
from harness.ports.tool import Delegate, Role, SubagentTask, Tool, ToolOutput, specs_of
from harness.publishing.bus import Subscriber
from harness.views import TextView

DELEGATE = "delegate_sub_agent"
NAME_CHARS = 40
USUAL_TURNS = 5
"""How often the first request of a sub-agent is counted, to estimate what it will use."""


@dataclass(frozen=True, slots=True)
class SpawnContext:
    """What ties a sub-agent to the run it works for."""

    parent: Run
    limits: SharedLimits
    slot: ConcurrencySlot


class Subagent(Protocol):
    """The part of an agent that is used to run it for another one."""

    spawn_context: SpawnContext | None

    @property
    def state(self) -> State: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def history(self) -> History: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def jobs(self) -> Jobs: ...

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every event."""
        ...

    async def prompt(self, prompt: Prompt) -> AgentResult:
        """Send a prompt and wait for the run to end."""
        ...


MakeSubagent: TypeAlias = Callable[[Model, Sequence[Tool], str, AgentOptions], Subagent]


def with_delegate(run: Run, kin: SpawnContext | None, make: MakeSubagent) -> Run:
    """The run, able to hand tasks to sub-agents, unless it is itself as deep as they may be; `kin` if it is one's."""
    if kin is None:
        family = SharedLimits(run.options.subagents)
        run = replace(run, user=SharedInteraction(run.user, family.asking))
    else:
        family = kin.limits
        run = replace(run, parent=kin.parent)
    if len(run.ancestors) > family.limits.max_depth:
        return run
    return replace(run, delegate=Spawner(run, family, kin.slot if kin else None, make))


class Spawner:
    """Starts the sub-agents of one run. `seat` is the place at which the run itself works, if it is a sub-agent's."""

    def __init__(self, run: Run, family: SharedLimits, seat: ConcurrencySlot | None, make: MakeSubagent) -> None:
        self._run = run
        self._limits = family
        self._slot = seat
        self._make = make

    async def __call__(self, delegation: SubagentTask) -> ToolOutput:
        """Let a sub-agent do the task. It fails with a text for the model; cancelled, it leaves nothing behind."""
        run, budget = self._run, self._limits.budget
        unknown = _unknown(delegation.tools, tools_of(run.state.mode, self._tools(delegation.role)))
        if unknown:
            return ToolOutput.failure(unknown)
        async with self._slot.lent() if self._slot else nullcontext():
            # Tokens before the place: who holds a place must be able to go on. For the same reason only those wait
            # for tokens for whom nobody who holds some is waiting.
            wanted = self._estimate(delegation) if budget.limit else 0
            share = await budget.acquire(wanted, waits=self._slot is None)
            if share is None:
                return ToolOutput.failure(f"{SPENT} Do the task yourself.")
            try:
                if self._limits.slots.locked():
                    delegation.update(TextView("waits for others to finish"))
                async with ConcurrencySlot(self._limits.slots) as seat:
                    return await self._work(delegation, share, seat)
            finally:
                share.close()
                # It may have changed what was read.
                run.cache.clear()

    async def _work(self, delegation: SubagentTask, share: TokenReservation, seat: ConcurrencySlot) -> ToolOutput:
        child = self._child(delegation, share)
        child.spawn_context = SpawnContext(self._run, self._limits, seat)
        child.subscribe(Relay(self._run.bus, delegation, deltas=self._limits.limits.deltas))
        if not delegation.role.tools:
            child.subscribe(partial(self._keep_to_what_is_left, child.state))
        who, limit = _who(delegation), self._limits.limits.result_chars
        delegation.on_interrupt(lambda: stopped(child.identity, child.history.messages, who, limit))
        try:
            result = await child.prompt(delegation.task)
        finally:
            left = child.jobs.transfer_to(self._run.state.jobs)
        return outcome(child.identity, result, who, limit, left)

    def _child(self, delegation: SubagentTask, share: TokenReservation) -> Subagent:
        run, role, session_id = self._run, delegation.role, new_id()
        tools = [tool for tool in self._tools(role) if not delegation.tools or tool.name in delegation.tools]
        options = replace(
            run.options,
            workspace=run.workspace.for_another(),
            user=AttributedInteraction(run.user, _who(delegation)),
            limits=Limits(max_turns=self._turns(delegation)),
            # The phase is its caller's; its own turns are limited above.
            planning=Planning(max_turns=0),
            hooks=inherited(run, share),
            execution=replace(run.options.execution, cache_entries=0),
            config_id="sub",
            get_steering_messages=None,
            get_follow_up_messages=None,
            session_id=session_id,
            messages=(),
            routing=None if role.model else run.options.routing,
            spill_dir=run.spill_dir / session_id,
            # It must have stopped before its parent loses patience with it.
            cancel_grace_s=run.options.cancel_grace_s / 2,
        )
        child = self._make(role.model or run.state.model, tools, self._system(role), options)
        child.state.permissions = run.state.permissions
        child.state.pause = run.state.pause
        child.state.calls = run.state.calls
        child.state.jobs = run.state.jobs.for_child(child.inbox.news)
        if not role.model:
            child.state.max_tokens = run.state.max_tokens
            child.state.budget = run.state.budget
        child.identity.parent_run_id = run.bus.run_id
        child.identity.origin = "subagent"
        return child

    def _keep_to_what_is_left(self, state: State, event: Event) -> None:
        """A tool that the parent loses, its sub-agents lose."""
        if isinstance(event, TurnStart):
            state.tools = [tool for tool in state.tools if tool in self._run.state.tools]

    def _tools(self, role: Role) -> list[Tool]:
        """The tools a sub-agent may have. A plan is its parent's to submit."""
        is_last = len(self._run.ancestors) >= self._limits.limits.max_depth
        tools = [tool for tool in role.tools or self._run.state.tools if tool.name != SUBMIT_PLAN]
        return [tool for tool in tools if not (is_last and _delegates(tool))]

    def _system(self, role: Role) -> str:
        own, told = role.system_prompt or self._run.state.system_prompt, prompt_text("subagent")
        return own if told in own else f"{own}\n\n{told}"

    def _turns(self, delegation: SubagentTask) -> int:
        limits = (delegation.max_turns, self._limits.limits.max_turns)
        return min((each for each in limits if each), default=0)

    def _estimate(self, delegation: SubagentTask) -> int:
        role = delegation.role
        request = estimate_overhead(self._system(role), specs_of(self._tools(role))) + estimate_text(delegation.task)
        return USUAL_TURNS * request


def _delegates(tool: Tool) -> bool:
    return tool.name == DELEGATE or isinstance(tool, SubAgentTool)


def _unknown(names: Sequence[str], tools: Sequence[Tool]) -> str:
    """What is wrong with the names of tools; empty when nothing is."""
    known = [tool.name for tool in tools]
    unknown = sorted(set(names).difference(known))
    if not unknown:
        return ""
    choice = f"name some of {', '.join(known)}, or none for all of them" if known else "there are no tools for it"
    return f"A sub-agent cannot have {', '.join(unknown)}: {choice}."


def _who(delegation: SubagentTask) -> str:
    """Its name for people. The name comes from a model."""
    return f"Sub-agent {' '.join(delegation.name.split())[:NAME_CHARS]}".strip()


if TYPE_CHECKING:
    _: type[Delegate] = Spawner
