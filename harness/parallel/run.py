"""One prompt, several configurations at once: each on a copy of the conversation, and one of them goes on.

The whole is one run of the agent. What happens in the copies is told as `BranchEvent`s between `ParallelStart` and
`ParallelEnd`; then what the chosen one said and did is told once more, as the agent's own, and only that stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from harness.agent.agent import Agent
from harness.agent.guardrails import Reject
from harness.agent.loop import admit_prompts, append_messages, continue_after, rejected
from harness.agent.options import AgentOptions
from harness.agent.prompt import Prompt, messages_of
from harness.agent.result import AgentResult
from harness.agent.run import Run, RunOutcome, RunRequest
from harness.approval.interactions import AttributedInteraction
from harness.approval.modes import Planning
from harness.errors import AlreadyRunning, ConfigError, InvalidContinue, NoMessages
from harness.events import (
    BranchEvent,
    ContextWarning,
    Continuation,
    Event,
    HookRan,
    LimitReached,
    MessageEnd,
    MessageStart,
    Notice,
    ParallelEnd,
    ParallelStart,
    ToolCacheHit,
    ToolCallsReceived,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
    UsageUpdate,
)
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, Usage, UserMessage
from harness.parallel.selection import Outcome, PickFirst, Selection, Strategy, Transparent, candidates
from harness.ports.provider import Model
from harness.ports.tool import Tool

logger = logging.getLogger(__name__)

_ADOPTED = (
    TurnStart,
    MessageStart,
    MessageEnd,
    UsageUpdate,
    ContextWarning,
    ToolCallsReceived,
    ToolExecutionStart,
    ToolCacheHit,
    ToolExecutionEnd,
    HookRan,
    LimitReached,
    TurnEnd,
)
"""What the agent tells of the chosen run as its own: what was said and done, not how it was streamed or asked about."""


@dataclass(frozen=True, slots=True)
class ParallelVariant:
    """One configuration.

    `tools` None: those of the agent that change nothing, since several runs at once would change the same files under
    each other's hands; who gives others says that they do not collide. `system_prompt` None is the agent's. `options`
    None: it works as the agent does (person, approval, limits for each run, hooks, folders), but for routing and
    fallback, which would ask other models than this one; given, they count as they are, but for the session, the
    conversation and filters. `config_id` names the configuration in its loop id.
    """

    model: Model
    tools: Sequence[Tool] | None = None
    system_prompt: str | None = None
    options: AgentOptions | None = None
    config_id: str = ""


@dataclass(frozen=True, slots=True)
class ParallelResult:
    """`result` is the agent's run as a whole; `outcomes` are in the order of the configurations, empty when the run was
    not let begin or was stopped before all were over. `selected_index` is the one that goes on, None when none does;
    `usage` is what the choice used."""

    result: AgentResult
    outcomes: tuple[Outcome, ...] = ()
    selected_index: int | None = None
    usage: Usage = Usage()
    reason: str = ""


async def run_parallel(
    agent: Agent,
    prompt: Prompt | Continuation,
    branches: Sequence[ParallelVariant],
    strategy: Strategy = PickFirst(),
) -> ParallelResult:
    """Let each configuration answer the prompt, or go on from where the history stands, and choose one.

    The agent's own history, session and usage go on with the chosen run; all of them are paid for. One that fails stops
    no other; when all do, the run ends in error and the prompt stays in the history. Steering and follow-ups wait until
    one is chosen, and are then heard by the agent's own model. Hooks are asked around the whole and in each run.

    Raises:
        AlreadyRunning: a run is on.
        ConfigError: there is no configuration, or too many for the strategy.
        NoMessages, InvalidContinue: there is nothing to go on from.
    """
    if agent.is_running:
        raise AlreadyRunning("a run is on: several at once are one run of the agent")
    if not branches:
        raise ConfigError("name at least one configuration to run")
    if isinstance(strategy, Transparent):
        # Before anything is paid for.
        strategy.admit(len(branches))
    contest = _Contest(agent, branches, strategy)
    result = await agent.run(replace(_entry(agent, prompt), work=contest.work))
    choice = contest.choice
    if choice is None:
        return ParallelResult(result, contest.outcomes)
    return ParallelResult(result, contest.outcomes, choice.index, choice.usage, choice.reason)


def _entry(agent: Agent, prompt: Prompt | Continuation) -> RunRequest:
    if not isinstance(prompt, Continuation):
        return RunRequest(messages_of(prompt), trigger=agent.identity.origin)
    if not len(agent.history):
        raise NoMessages("there is no conversation to continue")
    if agent.history.at_rest:
        raise InvalidContinue("the last message is the assistant's: prompt instead")
    return RunRequest(continuation=prompt.tagged())


class _Contest:
    """What a run of the agent does in place of its loop."""

    def __init__(self, agent: Agent, branches: Sequence[ParallelVariant], strategy: Strategy) -> None:
        self._agent = agent
        self._branches = branches
        self._strategy = strategy
        self.outcomes: tuple[Outcome, ...] = ()
        self.choice: Selection | None = None

    async def work(self, run: Run) -> RunOutcome:
        prompts = admit_prompts(run, run.request.prompts)
        if isinstance(prompts, Reject):
            return rejected(prompts.reason)
        base = run.history.messages
        append_messages(run, prompts)
        runners = [_Runner(self._agent, branch, run, base) for branch in self._branches]
        await self._compete(run, runners, prompts)
        if self.choice is None:
            return self._failure(run)
        runner, outcome = runners[self.choice.index], self.outcomes[self.choice.index]
        run.workspace.learn_from(runner.agent.workspace)
        _adopt(run, outcome, runner.facts)
        result = outcome.result
        reply = run.history.last_reply()
        if result.limit or reply is None or not run.inbox:
            return RunOutcome(result.stop_reason, result.error, result.limit, result.stop_message)
        return await continue_after(run, reply)

    async def _compete(self, run: Run, runners: Sequence[_Runner], prompts: tuple[Message, ...]) -> None:
        run_ids = tuple(runner.run_id for runner in runners)
        run.bus.publish(ParallelStart(run_ids=run_ids, specs=tuple(each.model.spec for each in self._branches)))
        end = ParallelEnd(selected_run_id="", selected_index=-1, reason="stopped")
        try:
            await self._race(runners, prompts)
            self.choice = choice = await self._choose(run, prompts)
            end = replace(end, reason="none succeeded")
            if choice is not None:
                end = ParallelEnd(
                    selected_run_id=run_ids[choice.index],
                    selected_index=choice.index,
                    usage=choice.usage,
                    reason=choice.reason,
                )
        finally:
            # They may have changed what was read.
            run.cache.clear()
            self._account(run, runners, end.usage)
            run.bus.publish(replace(end, usage_beside=self._usage_beside(runners, end.usage)))

    async def _race(self, runners: Sequence[_Runner], prompts: tuple[Message, ...]) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(runner.run(prompts)) for runner in runners]
        results = (task.result() for task in tasks)
        self.outcomes = tuple(
            runner.outcome(index, result) for index, (runner, result) in enumerate(zip(runners, results, strict=True))
        )

    async def _choose(self, run: Run, prompts: tuple[Message, ...]) -> Selection | None:
        able = {each.index for each in candidates(self.outcomes) if each.succeeded}
        if not able:
            return None
        first = min(able)
        if len(able) == 1:
            return Selection(first, reason="the only one that succeeded")
        try:
            choice = await self._strategy.choose(prompts, self.outcomes)
        except Exception as error:  # a strategy is a stranger's code, and the answers are paid for
            logger.exception("the choice between parallel runs failed")
            told = f"The choice failed ({type(error).__name__}: {error}), so the first answer is taken."
            choice = Selection(first, reason="the choice failed", warnings=(told,))
        if choice.index not in able:
            told = f"Number {choice.index} was chosen, which is no answer, so the first one is taken."
            choice = replace(choice, index=first, warnings=(*choice.warnings, told))
        for warning in choice.warnings:
            run.bus.publish(Notice(text=warning, level="warning"))
        return choice

    def _account(self, run: Run, runners: Sequence[_Runner], judged: Usage) -> None:
        for ledger in (run.state.ledger, run.meter.ledger):
            for runner in runners:
                ledger.absorb(runner.agent.state.ledger)
            if judged != Usage():
                ledger.add("judge", judged)

    def _usage_beside(self, runners: Sequence[_Runner], judged: Usage) -> Usage:
        """Tokens of the runs that were not chosen and of the choice."""
        chosen = self.choice.index if self.choice is not None else None
        others = (each.agent.state.usage for index, each in enumerate(runners) if index != chosen)
        return sum(others, judged)

    def _failure(self, run: Run) -> RunOutcome:
        failures = (each.result.failure for each in self.outcomes)
        run.progress.failure = next((failure for failure in failures if failure), None)
        reasons = [f"{each.spec.name}: {each.result.error or 'no answer'}" for each in self.outcomes]
        return RunOutcome("error", " · ".join(reasons))


class _Runner:
    """One configuration at work: an agent of its own. `facts` is what would be told of it, were it chosen."""

    def __init__(self, agent: Agent, branch: ParallelVariant, run: Run, base: tuple[Message, ...]) -> None:
        self.agent = _beside(agent, branch, run, base)
        self.facts: list[Event] = []
        self._run = run
        self._base = base
        self._identity = self.agent.identity
        self.run_id = self._identity.next_run(branch.model.spec)
        # What it goes on from is the run that it belongs to.
        self._identity.last_run_id = self._identity.parent_run_id
        self.agent.subscribe(self._tell)

    async def run(self, prompts: tuple[Message, ...]) -> AgentResult:
        entry = RunRequest(prompts, self._run.request.continuation, self._run.request.trigger, run_id=self.run_id)
        try:
            result = await self.agent.run(entry)
            await self._know_price()
            return result
        except Exception as error:  # its hooks and tools are a stranger's code, and stop no other run
            logger.exception("a parallel run failed")
            told = f"{type(error).__name__}: {error}"
            return AgentResult((), "", "error", self.agent.state.usage, told)
        finally:
            self.agent.jobs.transfer_to(self._run.state.jobs)

    async def _know_price(self) -> None:
        """The agent may never ask this model again, and with that never learn what it cost."""
        state = self.agent.state
        state.ledger.settle(state.model.spec.name, (await state.model.info.load()).price)

    def outcome(self, index: int, result: AgentResult) -> Outcome:
        return Outcome(
            index,
            self.run_id,
            self.agent.state.model.spec,
            result,
            self.agent.history.messages,
            len(self._base),
            self.agent.state.usage,
        )

    def _tell(self, event: Event) -> None:
        if isinstance(event, _ADOPTED):
            self.facts.append(event)
        self._run.bus.publish(BranchEvent(event=event))


def _beside(agent: Agent, branch: ParallelVariant, run: Run, base: tuple[Message, ...]) -> Agent:
    """An agent for one configuration, on a copy of the conversation."""
    state = agent.state
    tools = [tool for tool in state.tools if not tool.mutates] if branch.tools is None else branch.tools
    system_prompt = state.system_prompt if branch.system_prompt is None else branch.system_prompt
    options = branch.options or replace(
        agent.options,
        workspace=run.workspace.for_another(),
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
        workspace=options.workspace or run.workspace.for_another(),
        # Calls of different runs may have the same id, and with it the same name of a file.
        spill_dir=run.spill_dir / identity.agent_id,
        # What was said has passed the agent's own.
        guardrails=(),
        session_id=agent.session_id,
        messages=base,
    )
    beside = Agent(branch.model, tools, system_prompt, options)
    beside.identity = identity
    beside.state.calls = state.calls
    beside.state.jobs = state.jobs.for_child(beside.inbox.news)
    if branch.options is None:
        # What the person permits, and may change meanwhile, is the same for all.
        beside.state.permissions = state.permissions
        beside.state.pause = state.pause
    return beside


def _adopt(run: Run, outcome: Outcome, facts: Sequence[Event]) -> None:
    """Make what the chosen run said and did the agent's own, and tell of it as it happened."""
    heard = {message.id for message in run.history}
    added = {message.id: message for message in outcome.added if message.id not in heard}
    for fact in facts:
        match fact:
            case MessageStart(message_id=message_id) if message_id not in added:
                continue
            case MessageEnd(message=message) if message.id not in added:
                continue
            case MessageEnd(message=AssistantMessage() as reply):
                _take_over(run, added, reply)
            case MessageEnd(message=UserMessage() | CustomMessage() as message):
                run.history.append(message)
            case UsageUpdate():
                fact = replace(fact, total=run.state.usage)
            case TurnStart():
                run.progress.turn += 1
                run.meter.turns += 1
                run.bus.turn += 1
            case _:
                pass
        run.bus.publish(fact)


def _take_over(run: Run, added: dict[str, Message], reply: AssistantMessage) -> None:
    """The reply and the results of its calls, which stand in the order of the calls, whoever finished first."""
    run.history.append(reply)
    calls = {call.id for call in reply.tool_calls}
    for message in added.values():
        if isinstance(message, ToolResult) and message.call_id in calls:
            run.history.append(message)
