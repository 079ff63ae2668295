"""One configuration of a parallel run, and its run as an agent of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.late_tools import LateTools
from harness.agent.options import AgentOptions
from harness.agent.run_state import AgentResult, Run, RunRequest
from harness.approval.interactions import AttributedInteraction
from harness.approval.modes import SUBMIT_PLAN, Planning
from harness.events import (
    BranchEvent,
    Event,
    MessageEnd,
    SubagentEvent,
    UsageAdded,
)
from harness.messages import AssistantMessage, Message, Usage
from harness.parallel.adoption import ADOPTED
from harness.parallel.selection import Outcome
from harness.ports.provider import Model
from harness.ports.tool import Tool, renewed_tools
from harness.publishing import innermost

logger = logging.getLogger(__name__)


class ParallelVariant(Struct, frozen=True):
    """One configuration of a parallel run."""

    model: Model
    """Model to use."""
    tools: Sequence[Tool] | None = None
    """Tools; None: those of the agent that change nothing, because concurrent runs could change the same files."""
    system_prompt: str | None = None
    """System prompt; None: that of the agent."""
    options: AgentOptions | None = None
    """Options; None: those of the agent without routing and fallback, which would use other models.

    Session, conversation and guardrails are always the agent's.
    """
    config_id: str = ""
    """Name of the configuration in its run id."""


class VariantRunner:
    """Run of one configuration, as an agent of its own. `facts` are its events to publish if it is selected."""

    def __init__(self, agent: Agent, branch: ParallelVariant, run: Run, base: tuple[Message, ...]) -> None:
        self.agent = _agent_of(agent, branch, run, base)
        self.facts: list[Event] = []
        self.usage_outside_replies = Usage()
        """Usage of its subagents and discarded replies."""
        self._run = run
        self._base = base
        self._identity = self.agent.identity
        self.run_id = self._identity.next_run(branch.model.spec)
        # It continues from the run that it belongs to.
        self._identity.last_run_id = self._identity.parent_run_id
        self.agent.subscribe(self._publish)
        self.agent.add_drain(run.bus.flush)

    async def run(self, prompts: tuple[Message, ...]) -> AgentResult:
        request = RunRequest(prompts, self._run.request.continuation, self._run.request.trigger, run_id=self.run_id)
        try:
            result = await self.agent.run(request)
            # Load the price now, because the agent may never use this model again.
            state = self.agent.state
            state.ledger.settle(state.model.spec.name, (await state.model.info.load()).price)
            return result
        except Exception as error:  # user-supplied hooks and tools; may raise. Other runs continue
            logger.exception("a parallel run failed")
            problem = f"{type(error).__name__}: {error}"
            return AgentResult((), "", "error", self.agent.state.usage, problem)
        finally:
            self.agent.jobs.transfer_to(self._run.state.jobs)

    def outcome(self, index: int, result: AgentResult) -> Outcome:
        return Outcome(
            index,
            self.run_id,
            self.agent.state.model.spec,
            result,
            self.agent.history.messages,
            len(self._base),
            self.agent.state.usage,
            tuple(self._run.state.context.overlay.apply(self._base)),
        )

    def _publish(self, event: Event) -> None:
        if isinstance(event, ADOPTED):
            self.facts.append(event)
        match innermost(event):
            case UsageAdded(usage=usage):
                self.usage_outside_replies += usage
            case MessageEnd(message=AssistantMessage(usage=usage)) if isinstance(event, SubagentEvent):
                self.usage_outside_replies += usage
            case _:
                pass
        self._run.bus.publish(BranchEvent(event=event))


def _agent_of(agent: Agent, branch: ParallelVariant, run: Run, base: tuple[Message, ...]) -> Agent:
    """Return an agent for one configuration, with a copy of the conversation."""
    state = agent.state
    reading = [tool for tool in state.tools if not tool.mutates and tool.name != SUBMIT_PLAN]
    tools = renewed_tools(reading) if branch.tools is None else branch.tools
    system_prompt = state.system_prompt if branch.system_prompt is None else branch.system_prompt
    options = branch.options or replace(
        agent.options,
        workspace=run.workspace.with_own_reads(),
        user=AttributedInteraction(run.user, branch.model.spec.name),
        planning=Planning(max_turns=0),
        max_tokens=state.max_tokens,
        routing=None,
        fallback=(),
        get_steering_messages=None,
        get_follow_up_messages=None,
        config_id="",
    )
    identity = agent.identity.parallel(branch.config_id or options.config_id)
    options = replace(
        options,
        workspace=options.workspace or run.workspace.with_own_reads(),
        # Calls of different runs may have the same id, and therefore the same file name.
        spill_dir=run.spill_dir / identity.agent_id,
        # The prompts have passed the agent's own guardrails.
        guardrails=(),
        session_id=agent.session_id,
        messages=base,
    )
    variant = Agent(branch.model, tools, system_prompt, options)
    variant.identity = identity
    variant.state.context = agent.state.context.fork()
    variant.state.cache_key = state.cache_key
    if branch.tools is None:
        variant.state.late = LateTools(state.late.sources.reading())
    variant.state.calls = state.calls
    variant.state.jobs = state.jobs.for_child(variant.inbox.news)
    variant.state.jobs.name_of = variant.state.name_of
    if branch.options is None:
        # Permissions, which the user may change meanwhile, are shared.
        variant.state.permissions = state.permissions
        variant.state.pause = state.pause
    return variant
