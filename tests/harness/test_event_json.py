from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from fakes.runs import calls
from fakes.simple_tools import SimpleTool
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy
from msgspec import Struct
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.guardrails import Reject
from harness.agent.limits import Limits
from harness.agent.routing import ByTurn
from harness.approval.modes import PLAN
from harness.codec import decode, encode
from harness.context.policy import ContextPolicy
from harness.errors import ContextWindowOverflow, NetworkError, RequestRejected
from harness.events import BranchEvent, Event, EventHeader, Notice, SubagentEvent, TurnStart
from harness.messages import ModelSpec, Usage
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Hooks, Stop
from harness.ports.tool import ToolOutput
from harness.user_requests import Plan, Question
from harness.views import TextView
from providers.demo import Break, Call, Reply, Say, scripted
from tools import builtin_tools
from tools.delegate import DelegateTool

EVENTS: tuple[type, ...] = get_args(Event)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLAIN: dict[object, SearchStrategy] = {
    str: st.text(max_size=5),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def values(hint: Any) -> SearchStrategy:
    """Return a strategy for any value of a type used in events."""
    if hint in PLAIN:
        return PLAIN[hint]
    if hint == Event:
        # Deep enough to show that nesting works.
        return values(Notice) | values(TurnStart)
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint)
        fields = {name: values(hints[name]) for name in hint.__struct_fields__}
        return st.fixed_dictionaries(fields).map(lambda chosen: hint(**chosen))
    return _of_parts(get_origin(hint), get_args(hint))


def _of_parts(origin: Any, parts: tuple[Any, ...]) -> SearchStrategy:
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple:
        return st.lists(values(parts[0]), max_size=2).map(tuple)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, parts))
    assert origin is dict
    keys, items = parts
    return st.dictionaries(values(keys), PLAIN.get(items, JSON), max_size=2)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_event_round_trips_through_json(kind: type, data: DataObject):
    event = data.draw(values(kind))

    written = json.dumps(encode(event))

    assert decode(Event, json.loads(written)) == event


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_carries_its_time_and_run(kind: type):
    assert issubclass(kind, EventHeader)
    assert {"seq", "time", "session_id", "run_id", "turn"} <= get_type_hints(kind).keys()


def test_nested_events_are_decoded_at_any_depth():
    event: Event = Notice(text="deep")
    for _ in range(10):
        event = SubagentEvent(call_id="1", event=BranchEvent(event=event))

    assert decode(Event, json.loads(json.dumps(encode(event)))) == event


Make = Callable[..., Agent]


def _talk(make: Make) -> Agent:
    """Run with a retry after partial text, a warning, a cached call, a question, progress, approval, and a limit."""

    async def work(arguments, context) -> ToolOutput:
        context.update(TextView("half"))
        await context.user.ask(Question("which?"))
        return ToolOutput.text("done")

    tools = [SimpleTool("look", cacheable=True), SimpleTool("work", work, risk="edit")]
    broken = Reply((Say("half a"), Break(NetworkError("gone"))))
    full = Reply(calls("look", "work").parts, usage=Usage(input=190_000))
    return make(broken, calls("look"), full, "never", tools=tools, limits=Limits(max_turns=2))


def _overflow(make: Make) -> Agent:
    return make(Reply((Break(ContextWindowOverflow("too long")),)), "fits")


def _empty_reply(make: Make) -> Agent:
    return make(Reply((), usage=Usage(input=10)), "not empty")


def _several_models(make: Make) -> Agent:
    second = replace(scripted(Reply((Break(RequestRejected("no")),))), spec=ModelSpec("demo", "second"))
    routing = ByTurn(scripted(calls("look")), {2: second})
    return make("never", tools=[SimpleTool("look")], routing=routing, fallback=[scripted("another answers")])


def _plan(make: Make) -> Agent:
    async def submit(arguments, context) -> ToolOutput:
        return ToolOutput.text(str(await context.propose_plan(Plan("1. do it"))))

    return make(calls("submit_plan"), "done", tools=[SimpleTool("submit_plan", submit)], mode=PLAN)


def _rejected(make: Make) -> Agent:
    class Never:
        def check(self, message) -> Reject:
            return Reject("no")

    return make("never", guardrails=[Never()])


def _stopped_by_a_hook(make: Make) -> Agent:
    class StopAtOnce(Hooks):
        async def before_loop(self, messages, loop_index) -> Stop:
            return Stop("no")

    return make("never", hooks=[StopAtOnce()])


def _subagent(make: Make) -> Agent:
    return make(calls("delegate_subagent", task="look"), "seen", "done", tools=[DelegateTool()])


def _job(make: Make) -> Agent:
    begin = Reply((Call("bash", {"command": "sleep 300", "background": True}),))
    end = Reply((Call("job_kill", {"job_id": "job-1"}),))
    ask = Reply((Call("bash", {"command": "stty -echo; echo Password:; sleep 300", "pty": True}),))
    return make(
        begin, ask, end, Reply((Call("job_kill", {"job_id": "job-2"}),)), "done", tools=builtin_tools(), approval="off"
    )


SCENARIOS = (_talk, _overflow, _empty_reply, _several_models, _plan, _rejected, _stopped_by_a_hook, _subagent, _job)


def _with_inner(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if isinstance(event, SubagentEvent | BranchEvent):
            yield from _with_inner([event.event])


async def _with_changed_context(make: Make, record: Callable[..., Any]) -> list[Event]:
    """Return the events of an eviction, a compaction, its end, and a pin."""
    looks = [calls("look", path=str(number)) for number in range(9)]

    async def long_output(arguments, context) -> ToolOutput:
        return ToolOutput.text("word " * 300)

    window = ContextPolicy(window=4_000, reserve=0, compact_at=0, keep_recent=2)
    tools = [SimpleTool("look", long_output)]
    agent = make(*looks, "done", "The files were read, and all tests pass.", tools=tools, window=window)
    recorder = record(agent)
    await agent.prompt("go")
    await agent.compact()
    agent.undo_compaction()
    agent.pin(agent.messages[0].id)
    agent.clear_messages()
    return recorder.events


async def test_every_declared_event_occurs(make_agent, record):
    happened: set[type] = set()

    for scenario in SCENARIOS:
        agent = scenario(make_agent)
        recorder = record(agent)
        await agent.prompt("go")
        happened |= set(map(type, _with_inner(recorder.events)))
    agent = make_agent("done")
    recorder = record(agent)
    await run_parallel(agent, "go", [ParallelVariant(scripted("one")), ParallelVariant(scripted("two"))])
    agent.set_model(scripted("other"))
    agent.notify("hello")
    happened |= set(map(type, recorder.events))
    happened |= set(map(type, await _with_changed_context(make_agent, record)))

    assert {kind.__name__ for kind in set(EVENTS) - happened} == set()


async def test_every_event_of_these_scenarios_round_trips_through_json(make_agent, record):
    for scenario in SCENARIOS:
        agent = scenario(make_agent)
        recorder = record(agent)
        await agent.prompt("go")

        for event in recorder.events:
            assert decode(Event, json.loads(json.dumps(encode(event)))) == event
