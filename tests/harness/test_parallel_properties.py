from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.contests import Take, model, own
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.policies import DenyList
from harness.agent.retry import RetryPolicy
from harness.errors import ModelOverloaded, RequestRejected
from harness.events import AgentEnd, AgentStart, BranchEvent, Event, ToolExecutionEnd, ToolExecutionStart
from harness.execution.context import Execution
from harness.parallel.run import ParallelResult, run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Hooks
from harness.workspace.workspace import Workspace
from providers.demo import Break, Call, Reply, Say

AT_ONCE = RetryPolicy(max_retries=2, initial=0.0, max_delay=0.0, empty_delay=0.0)
WORDS = st.sampled_from(["yes", "a longer answer than that", ""]).map(Say)
CALLS = st.sampled_from(["look", "change", "denied", "unknown"]).map(lambda name: Call(name, {}))
BREAKS = st.sampled_from([ModelOverloaded("busy"), RequestRejected("no")]).map(Break)
REPLIES = st.one_of(
    st.lists(WORDS | CALLS, min_size=1, max_size=3).map(tuple),
    st.tuples(WORDS, BREAKS),
).map(Reply)
SCRIPTS = st.lists(REPLIES, max_size=4)


@dataclass(frozen=True, slots=True)
class Case:
    scripts: Sequence[Sequence[Reply]]
    chosen: int
    said_meanwhile: bool
    abort_at: int


CASES = st.builds(
    Case,
    scripts=st.lists(SCRIPTS, min_size=1, max_size=3),
    chosen=st.integers(-1, 3),
    said_meanwhile=st.booleans(),
    abort_at=st.one_of(st.just(0), st.integers(1, 60)),
)


def agent_for(hooks: Sequence[Hooks] = ()) -> Agent:
    options = AgentOptions(
        workspace=Workspace(Path(__file__).parent),
        retry=AT_ONCE,
        limits=Limits(max_turns=3),
        hooks=hooks,
        execution=Execution(cache_entries=0),
    )
    return Agent(model("own", "heard"), [SimpleTool(name) for name in ("look", "denied")], "You help.", options)


async def played(case: Case) -> tuple[Agent, list[Event], ParallelResult]:
    agent, events = agent_for([DenyList("denied")]), []
    agent.subscribe(events.append)

    def interfere(event: Event) -> None:
        if event.seq == case.abort_at:
            agent.abort()

    agent.subscribe(interfere)
    if case.said_meanwhile:
        agent.follow_up("and then?")
    tools = [SimpleTool(name) for name in ("look", "change", "denied")]
    branches = [ParallelVariant(model(f"m{at}", *script), tools=tools) for at, script in enumerate(case.scripts)]
    done = await run_parallel(agent, "hi", branches, Take(case.chosen))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return agent, events, done


@settings(max_examples=150)
@given(CASES)
def test_agent_run_is_complete_for_any_variant_outcome(case: Case):
    agent, events, done = asyncio.run(played(case))

    names = Counter(own(events))
    assert names["AgentStart"] == names["AgentEnd"] == 1
    assert names["ParallelStart"] == names["ParallelEnd"] == 1
    assert names["TurnStart"] == names["TurnEnd"]
    assert events[-1].messages == agent.history.messages == done.result.messages
    assert agent.history.messages[0].text == "hi"
    if done.selected_index is None:
        assert done.result.stop_reason in ("error", "aborted")
        assert len(agent.history) == 1
    else:
        kept = done.outcomes[done.selected_index].messages
        assert agent.history.messages[: len(kept)] == kept


@settings(max_examples=100)
@given(CASES)
def test_each_call_and_run_has_one_start_and_one_end_for_any_outcome(case: Case):
    _, events, done = asyncio.run(played(case))

    by_run: dict[str, list[Event]] = {}
    for event in events:
        inner = event.event if isinstance(event, BranchEvent) else event
        by_run.setdefault(inner.run_id, []).append(inner)
    assert len(by_run) == len(case.scripts) + 1
    for reported in by_run.values():
        started = [each.call.id for each in reported if isinstance(each, ToolExecutionStart)]
        assert sorted(started) == sorted(each.result.call_id for each in reported if isinstance(each, ToolExecutionEnd))
        assert len(started) == len(set(started))
        assert isinstance(reported[0], AgentStart)
        assert [isinstance(each, AgentEnd) for each in reported] == [False] * (len(reported) - 1) + [True]
    used = sum(each.usage.context for reported in by_run.values() for each in reported if isinstance(each, AgentEnd))
    assert used >= done.result.usage.context
