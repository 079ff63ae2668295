"""Parallel runs: one prompt, several configurations at once, each on a copy of the conversation; one is selected.

The whole is one run of the agent. Events of the copies are published as `BranchEvent`s between `ParallelStart` and
`ParallelEnd`; then the events of the selected run are published as the agent's own, and only its messages are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.arguments import Prompt, messages_of
from harness.agent.guardrails import Reject
from harness.agent.loop import admit_prompts, append_messages, continue_after, rejected
from harness.agent.run_state import AgentResult, Run, RunRequest
from harness.errors import AlreadyRunning, ConfigError, InvalidContinue, NoMessages
from harness.events import (
    AgentEnd,
    Continuation,
    Notice,
    ParallelEnd,
    ParallelStart,
)
from harness.messages import Message, Usage
from harness.parallel.adoption import adopt
from harness.parallel.evaluators import find_strategy
from harness.parallel.selection import Outcome, PickFirst, Selection, Strategy, Transparent, candidates
from harness.parallel.variant import ParallelVariant, VariantRunner

logger = logging.getLogger(__name__)


class ParallelResult(Struct, frozen=True):
    """Result of a parallel run."""

    result: AgentResult
    """Result of the agent's run as a whole."""
    outcomes: tuple[Outcome, ...] = ()
    """Outcomes in the order of the configurations; empty if the run did not start or was aborted."""
    selected_index: int | None = None
    """Index of the selected outcome; None if absent."""
    usage: Usage = Usage()
    """Tokens and cost of the selection itself."""
    reason: str = ""
    """Reason for the selection."""


async def run_parallel(
    agent: Agent,
    prompt: Prompt | Continuation,
    branches: Sequence[ParallelVariant],
    strategy: Strategy | str = PickFirst(),
) -> ParallelResult:
    """Run a prompt, or continue, with each configuration, and select one of the outcomes.

    The agent's history and session continue with the selected run; its usage includes all of them. A run that fails
    does not stop the others; if all fail, the run ends with an error and the prompt stays in the history. Steering and
    follow-up messages wait for the selection and are then delivered to the agent's own model. Hooks apply to the whole
    and to each run.

    Args:
        agent: The agent.
        prompt: Text, content blocks or messages, or a `Continuation`.
        branches: The configurations.
        strategy: Selects one of the outcomes, or the name of such a strategy: `first`, `fewest-tokens`, `most-tokens`,
            `judge` for the agent's model, or the name of one in an installed package.

    Raises:
        AlreadyRunning: A run is active.
        ConfigError: There is no configuration, too many for the strategy, or no such strategy.
        NoMessages, InvalidContinue: There is nothing to continue.
    """
    if agent.is_running:
        raise AlreadyRunning("a run is active: wait until it ends, or abort it")
    if not branches:
        raise ConfigError("name at least one configuration to run")
    # Checked before anything is paid for.
    if isinstance(strategy, str):
        strategy = find_strategy(strategy, agent.state.model)
    if isinstance(strategy, Transparent):
        strategy.admit(len(branches))
    contest = _Contest(agent, branches, strategy)
    result = await agent.run(replace(_run_request(agent, prompt), work=contest.work))
    choice = contest.choice
    if choice is None:
        return ParallelResult(result, contest.outcomes)
    return ParallelResult(result, contest.outcomes, choice.index, choice.usage, choice.reason)


def _run_request(agent: Agent, prompt: Prompt | Continuation) -> RunRequest:
    if not isinstance(prompt, Continuation):
        return RunRequest(messages_of(prompt))
    if not len(agent.history):
        raise NoMessages("there is no conversation to continue")
    if agent.history.at_rest:
        raise InvalidContinue("the last message is a reply: send a prompt instead")
    return RunRequest(continuation=prompt.tagged())


class _Contest:
    """Replacement of the agent loop that runs and compares all configurations."""

    def __init__(self, agent: Agent, branches: Sequence[ParallelVariant], strategy: Strategy) -> None:
        self._agent = agent
        self._branches = branches
        self._strategy = strategy
        self.outcomes: tuple[Outcome, ...] = ()
        self.choice: Selection | None = None

    async def work(self, run: Run) -> AgentEnd:
        prompts = await admit_prompts(run, run.request.prompts)
        if isinstance(prompts, Reject):
            return rejected(prompts.reason)
        base = run.history.messages
        append_messages(run, prompts)
        runners = [VariantRunner(self._agent, branch, run, base) for branch in self._branches]
        await self._compete(run, runners, prompts)
        if self.choice is None:
            return self._failure(run)
        runner, outcome = runners[self.choice.index], self.outcomes[self.choice.index]
        run.workspace.merge_reads(runner.agent.workspace)
        run.state.context.adopt(runner.agent.state.context)
        adopt(run, outcome, runner.facts)
        result = outcome.result
        reply = run.history.last_reply()
        if result.limit or reply is None or not run.inbox:
            return AgentEnd(
                stop_reason=result.stop_reason,
                error=result.error,
                limit=result.limit,
                stop_message=result.stop_message,
            )
        return await continue_after(run, reply)

    async def _compete(self, run: Run, runners: Sequence[VariantRunner], prompts: tuple[Message, ...]) -> None:
        run_ids = tuple(runner.run_id for runner in runners)
        run.bus.publish(ParallelStart(run_ids=run_ids, specs=tuple(each.model.spec for each in self._branches)))
        end = ParallelEnd(selected_run_id="", selected_index=-1, reason="aborted")
        try:
            await self._race(runners, prompts)
            try:
                self.choice = choice = await self._choose(run, prompts)
            except asyncio.CancelledError as error:
                end = replace(end, usage=sum((each for each in error.args if isinstance(each, Usage)), Usage()))
                raise
            end = replace(end, reason="none succeeded")
            if choice is not None:
                end = ParallelEnd(
                    selected_run_id=run_ids[choice.index],
                    selected_index=choice.index,
                    usage=choice.usage,
                    reason=choice.reason,
                )
        finally:
            # The runs may have changed files.
            run.cache.clear()
            self._account(run, runners, end.usage)
            beside = (
                each.usage_outside_replies if index == end.selected_index else each.agent.state.usage
                for index, each in enumerate(runners)
            )
            run.bus.publish(replace(end, usage_beside=sum(beside, end.usage)))

    async def _race(self, runners: Sequence[VariantRunner], prompts: tuple[Message, ...]) -> None:
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
            if not isinstance(choice, Selection):  # pyright: ignore[reportUnnecessaryIsInstance] user-supplied strategy
                raise TypeError(f"expected a Selection, not {type(choice).__name__}")
        except Exception as error:  # user-supplied strategy; may raise. The answers are paid for
            logger.exception("the choice between parallel runs failed")
            message = f"The selection failed ({type(error).__name__}: {error}), so the first answer is used."
            choice = Selection(first, reason="the selection failed", warnings=(message,))
        if choice.index not in able:
            message = f"Number {choice.index} was selected, which is not a valid answer, so the first one is used."
            choice = replace(choice, index=first, warnings=(*choice.warnings, message))
        for warning in choice.warnings:
            run.bus.publish(Notice(text=warning, level="warning"))
        return choice

    def _account(self, run: Run, runners: Sequence[VariantRunner], judged: Usage) -> None:
        for ledger in (run.state.ledger, run.meter.ledger):
            for runner in runners:
                ledger.absorb(runner.agent.state.ledger)
            if judged != Usage():
                ledger.add("judge", judged)

    def _failure(self, run: Run) -> AgentEnd:
        failures = (each.result.failure for each in self.outcomes)
        run.progress.failure = next((failure for failure in failures if failure), None)
        reasons = [f"{each.spec.name}: {each.result.error or 'no answer'}" for each in self.outcomes]
        return AgentEnd(stop_reason="error", error=" · ".join(reasons))
