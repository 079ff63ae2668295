from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.guardrails import Reject
from harness.errors import RequestRejected
from harness.events import (
    AgentEnd,
    AgentStart,
    BranchEvent,
    Continuation,
    Event,
    HookRan,
    MessageUpdate,
    Notice,
    ParallelEnd,
    ParallelStart,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from harness.messages import ToolCall, ToolResult, Usage, user
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Hooks, Stop
from harness.ports.tool import ToolOutput
from harness.tracing.recorder import TraceRecorder
from harness.tracing.records import ChildRunRef, ParallelGroup, SpawnRef
from harness.views import TextView
from providers.demo import Break, Hang, Reply, Say, scripted
from tools.delegate import DelegateTool


@pytest.fixture
def recorder() -> TraceRecorder:
    return TraceRecorder()


def feed(recorder: TraceRecorder, *events: Event) -> None:
    for event in events:
        recorder.on_event(event)


def at(event: Event, loop: str, time: float = 0.0) -> Event:
    """Return the event as the bus of that run would stamp it."""
    return replace(event, run_id=loop, session_id=loop.rsplit(".", 2)[0], time=time)


def begin(loop: str, time: float = 0.0, *, agent: str = "a", parent: str = "") -> Event:
    return at(AgentStart(agent_id=agent, parent_run_id=parent), loop, time)


def end(loop: str, time: float = 0.0, usage: Usage = Usage()) -> Event:
    return at(AgentEnd(stop_reason="stop", usage=usage), loop, time)


def call(loop: str, call_id: str, name: str) -> Event:
    return at(ToolExecutionStart(call=ToolCall(call_id, name, {}), label=name, summary=""), loop)


def called(loop: str, call_id: str, name: str, child: str = "") -> Event:
    return at(ToolExecutionEnd(result=ToolResult(call_id, name, ()), child_run_id=child), loop)


def ids(loops: Sequence) -> list[str]:
    return [loop.run_id for loop in loops]


async def test_run_is_recorded_completely(make_agent, record, recorder):
    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")])
    agent.subscribe(recorder.on_event)
    happened = record(agent)

    result = await agent.prompt("go")

    (session,) = recorder.sessions()
    (loop,) = session.runs
    assert (session.session_id, session.agent_id) == (agent.session_id, agent.agent_id)
    assert (loop.status, loop.stop_reason, loop.config) == ("completed", "stop", agent.state.model.spec)
    assert (loop.messages, loop.usage) == (result.messages, result.usage)
    assert session.total_usage() == result.usage
    assert loop.events == tuple(event for event in happened.events if not isinstance(event, MessageUpdate))
    assert (loop.started_at, loop.ended_at) == (happened.events[0].time, happened.events[-1].time)
    assert (session.created_at, session.last_active_at) == (loop.started_at, loop.ended_at)


async def test_streamed_deltas_are_recorded_on_request(make_agent, record):
    async def work(arguments, context) -> ToolOutput:
        context.update(TextView("half"))
        return ToolOutput.text("ok")

    agent = make_agent(calls("work"), "done", tools=[SimpleTool("work", work)])
    plain, streaming = TraceRecorder(), TraceRecorder(include_streaming_events=True)
    happened = record(agent)
    for each in (plain, streaming):
        agent.subscribe(each.on_event)

    await agent.prompt("go")

    assert streaming.sessions()[0].runs[0].events == tuple(happened.events)
    kept = plain.sessions()[0].runs[0].events
    assert not any(isinstance(event, MessageUpdate | ToolExecutionUpdate) for event in kept)


async def test_continuations_are_children_of_their_run(make_agent, recorder):
    agent = make_agent(Reply((Break(RequestRejected("no")),)), "one", "two", "three")
    agent.subscribe(recorder.on_event)

    await agent.prompt("go")
    await agent.continue_run(Continuation("rerun"))
    agent.follow_up("and?")
    await agent.continue_run(Continuation("branch", "mine"))
    await agent.prompt("something else")

    (session,) = recorder.sessions()
    first, rerun, branch, other = session.runs
    assert (first.status, first.stop_reason, first.error) == ("completed", "error", "no")
    assert ids(session.root_loops()) == [first.run_id, other.run_id]
    assert ids(session.children_of(first.run_id)) == [rerun.run_id]
    assert first.children_run_ids == (rerun.run_id,)
    assert rerun.children_run_ids == (branch.run_id,)
    assert (rerun.continuation.kind, branch.continuation) == ("rerun", Continuation("branch", "mine"))
    assert session.get_run(rerun.run_id) == rerun
    assert session.get_run("no such") is None


class StopAtOnce(Hooks):
    async def before_loop(self, messages, loop_index) -> Stop:
        return Stop("not today")


class Never:
    def check(self, message) -> Reject:
        return Reject("not this")


async def test_run_stopped_by_a_hook_is_recorded_as_rejected(make_agent, record, recorder):
    agent = make_agent("never", hooks=[StopAtOnce()])
    agent.subscribe(recorder.on_event)
    happened = record(agent)

    await agent.prompt("go")

    (loop,) = recorder.sessions()[0].runs
    assert (loop.status, loop.rejection) == ("rejected", "not today")
    assert [type(event) for event in loop.events] == [HookRan, AgentEnd]
    assert happened.names == ["HookRan", "AgentEnd"]


async def test_run_blocked_by_a_guardrail_is_recorded_as_rejected(make_agent, recorder):
    agent = make_agent("never", guardrails=[Never()])
    agent.subscribe(recorder.on_event)

    await agent.prompt("go")

    (loop,) = recorder.sessions()[0].runs
    assert (loop.status, loop.rejection) == ("rejected", "not this")


async def test_run_is_current_until_its_end_and_aborted_when_stopped(make_agent, recorder):
    agent = make_agent(Reply((Say("a long story"), Hang())))
    agent.subscribe(recorder.on_event)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: recorder.sessions())
    run_id = recorder.sessions()[0].runs[0].run_id
    current = recorder.current_run(run_id)
    agent.abort()
    await run

    assert (current.status, current.ended_at) == ("running", None)
    assert recorder.current_run(run_id) is None
    assert recorder.current_run("no such") is None
    assert recorder.sessions()[0].runs[0].status == "aborted"


def test_flush_completes_open_runs(recorder):
    feed(recorder, begin("s.c.1", 1), end("s.c.1", 2), begin("s.c.2", 3), at(Notice(text="n"), "s.c.2", 4))

    recorder.flush()

    loops = recorder.get_session("s").runs
    assert [(loop.status, loop.ended_at) for loop in loops] == [("completed", 2), ("aborted", 4)]
    feed(recorder, end("s.c.2", 9))
    assert recorder.get_session("s").runs == loops


async def test_each_session_is_recorded_separately_and_complete_once_left(make_agent, recorder):
    agent = make_agent("one", "two")
    agent.subscribe(recorder.on_event)
    first = agent.session_id

    await agent.prompt("go")
    assert recorder.drain_completed() == ()
    second = agent.new_session()
    await agent.prompt("go")

    assert [(each.session_id, each.formation) for each in recorder.sessions()] == [
        (first, "first_loop"),
        (second, "explicit"),
    ]
    assert [each.session_id for each in recorder.drain_completed()] == [first]
    assert [each.session_id for each in recorder.sessions()] == [second]
    assert recorder.get_session(first) is None


async def test_session_the_agent_returns_to_is_not_complete(make_agent, recorder):
    agent = make_agent("one", "two", "three")
    agent.subscribe(recorder.on_event)
    first = agent.session_id

    await agent.prompt("go")
    second = agent.new_session()
    await agent.prompt("go")
    agent.new_session(first)
    await agent.prompt("go")

    assert [each.session_id for each in recorder.drain_completed()] == [second]
    assert len(recorder.get_session(first).runs) == 2


def test_later_events_of_an_exported_session_get_a_new_name(recorder):
    feed(recorder, begin("s.c.1"), end("s.c.1"))
    recorder.flush()

    (handed_over,) = recorder.drain_completed()
    feed(recorder, begin("s.c.2"), end("s.c.2"))

    assert (handed_over.session_id, ids(handed_over.runs)) == ("s", ["s.c.1"])
    assert [(each.session_id, ids(each.runs)) for each in recorder.sessions()] == [("s-2", ["s.c.2"])]


def test_idle_gap_starts_a_new_session_when_configured():
    recorder = TraceRecorder(inactivity_timeout=60)

    feed(recorder, begin("s.c.1", 0), end("s.c.1", 100), begin("s.c.2", 160), end("s.c.2", 170))
    feed(recorder, begin("s.c.3", 231, parent="s.c.2"), end("s.c.3", 240), begin("t.c.1", 241))

    assert [(each.session_id, each.formation, ids(each.runs)) for each in recorder.sessions()] == [
        ("s", "first_loop", ["s.c.1", "s.c.2"]),
        ("s-2", "inactivity_timeout", ["s.c.3"]),
        ("t", "explicit", ["t.c.1"]),
    ]
    assert recorder.get_session("s-2").runs[0].session_id == "s-2"
    assert recorder.get_session("s").get_run("s.c.2").children_run_ids == ()
    assert recorder.get_session("s-2").root_loops() == recorder.get_session("s-2").runs
    assert [each.session_id for each in recorder.drain_completed()] == ["s", "s-2"]


def test_long_run_is_not_an_idle_gap():
    recorder = TraceRecorder(inactivity_timeout=60)

    feed(recorder, begin("s.c.1", 0), begin("s.c.2", 100, agent="b"))

    assert [ids(each.runs) for each in recorder.sessions()] == [["s.c.1", "s.c.2"]]


def test_subagents_are_found_in_caller_events_and_linked_both_ways(recorder):
    grandchild = SubagentEvent(call_id="g", event=begin("u.sub.1", agent="c", parent="t.sub.1"))
    inner = [
        begin("t.sub.1", agent="b", parent="s.c.1"),
        call("t.sub.1", "g", "delegate_further"),
        at(grandchild, "t.sub.1"),
        at(SubagentEvent(call_id="g", event=end("u.sub.1", usage=Usage(input=5))), "t.sub.1"),
        called("t.sub.1", "g", "delegate_further", "u.sub.1"),
        end("t.sub.1", usage=Usage(input=3)),
    ]

    feed(recorder, begin("s.c.1"), call("s.c.1", "d", "delegate"))
    feed(recorder, *(at(SubagentEvent(call_id="d", event=event), "s.c.1") for event in inner))
    feed(recorder, called("s.c.1", "d", "delegate", "t.sub.1"), end("s.c.1", usage=Usage(input=1)))

    parent, child, last = recorder.sessions()
    assert parent.runs[0].child_run_refs == (ChildRunRef("d", "delegate", "t.sub.1", "t"),)
    assert parent.runs[0].children_run_ids == ()
    assert child.parent_spawn_ref == SpawnRef("s", "s.c.1", "d", "delegate")
    assert child.runs[0].child_run_refs == (ChildRunRef("g", "delegate_further", "u.sub.1", "u"),)
    assert last.parent_spawn_ref == SpawnRef("t", "t.sub.1", "g", "delegate_further")
    assert [each.total_usage().input for each in (parent, child, last)] == [1, 3, 5]
    assert [type(event) for event in child.runs[0].events] == [
        AgentStart,
        ToolExecutionStart,
        ToolExecutionEnd,
        AgentEnd,
    ]
    assert [each.session_id for each in recorder.drain_completed()] == ["t", "u"]


def test_subagent_with_its_own_recorder_is_linked(recorder):
    feed(recorder, begin("s.c.1"), call("s.c.1", "d", "delegate"), begin("t.sub.1", agent="b", parent="s.c.1"))
    linked_by_run = recorder.get_session("t").parent_spawn_ref
    feed(recorder, end("t.sub.1"), called("s.c.1", "d", "delegate", "t.sub.1"))

    assert linked_by_run == SpawnRef("s", "s.c.1")
    assert recorder.get_session("t").parent_spawn_ref == SpawnRef("s", "s.c.1", "d", "delegate")
    assert recorder.get_session("s").runs[0].child_run_refs == (ChildRunRef("d", "delegate", "t.sub.1", "t"),)


async def test_real_subagent_is_recorded_in_its_own_session(make_agent, recorder):
    agent = make_agent(calls("delegate_subagent", task="look"), "seen", "done", tools=[DelegateTool()])
    agent.subscribe(recorder.on_event)

    result = await agent.prompt("go")

    parent, child = recorder.sessions()
    (caller,), (worker,) = parent.runs, child.runs
    assert child.parent_spawn_ref == SpawnRef(parent.session_id, caller.run_id, "call_1", "delegate_subagent")
    assert [ref.child_run_id for ref in caller.child_run_refs] == [worker.run_id]
    assert worker.parent_run_id == caller.run_id
    assert parent.total_usage() == result.usage


async def test_real_parallel_runs_are_children_of_their_run(make_agent, recorder):
    agent = make_agent("on its own")
    agent.subscribe(recorder.on_event)
    branches = [ParallelVariant(scripted("a"), config_id="with.dot"), ParallelVariant(scripted("b"), config_id="y")]

    outcome = await run_parallel(agent, "go", branches)

    (session,) = recorder.sessions()
    whole, first, second = session.runs
    assert (session.agent_id, ids(session.root_loops())) == (agent.agent_id, [whole.run_id])
    assert ids(session.children_of(whole.run_id)) == [first.run_id, second.run_id]
    assert [loop.parallel_group.is_selected for loop in (first, second)] == [True, False]
    assert session.total_usage() == outcome.result.usage


def test_parallel_runs_are_pending_then_siblings_with_one_chosen(recorder):
    group = ("s.x.1", "s.y.1")
    feed(recorder, at(ParallelStart(run_ids=group), "s.c.1"))
    announced = [(loop.run_id, loop.status, loop.parallel_group) for loop in recorder.get_session("s").runs]
    feed(recorder, *(at(BranchEvent(event=begin(loop, 1, agent=loop)), "s.c.1", 1) for loop in group))
    feed(recorder, *(at(BranchEvent(event=end(loop, 2, Usage(output=5))), "s.c.1", 2) for loop in group))
    chosen = ParallelEnd(selected_run_id="s.y.1", selected_index=1, usage=Usage(input=7))

    feed(recorder, at(chosen, "s.c.1", 3))

    assert announced == [(loop, "pending", ParallelGroup(group)) for loop in group]
    session = recorder.get_session("s")
    assert [loop.status for loop in session.runs] == ["completed", "completed"]
    assert [loop.parallel_group.is_selected for loop in session.runs] == [False, True]
    assert {loop.parallel_group.selected_run_id for loop in session.runs} == {"s.y.1"}
    assert ids(session.parallel_siblings("s.x.1")) == ["s.y.1"]
    assert session.parallel_siblings("no such") == ()
    assert session.total_usage() == Usage(input=7, output=10)


def test_choice_between_unknown_runs_changes_nothing(recorder):
    feed(recorder, begin("s.c.1"), at(ParallelEnd(selected_run_id="s.y.1", selected_index=0), "s.c.1"))

    assert recorder.get_session("s").parallel_siblings("s.c.1") == ()


async def test_events_between_runs_belong_to_no_run(make_agent, recorder):
    agent = make_agent("one")
    agent.subscribe(recorder.on_event)

    agent.notify("before")
    await agent.prompt("go")
    agent.notify("after")
    agent.replace_messages([user("x")])

    (loop,) = recorder.sessions()[0].runs
    assert not any(isinstance(event, Notice) for event in loop.events)


async def test_history_of_parallel_runs_is_that_of_the_selected_one(make_agent):
    agent = make_agent("never asked", tools=[SimpleTool("look")])
    recorder = TraceRecorder()
    agent.subscribe(recorder.on_event)
    branches = [ParallelVariant(scripted(calls("look"), "first")), ParallelVariant(scripted("second"))]

    await run_parallel(agent, "go", branches)

    session = recorder.get_session(agent.session_id)
    assert session is not None
    assert len(session.runs) == 3
    assert session.history() == agent.messages
