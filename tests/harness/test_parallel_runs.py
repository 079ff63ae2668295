from __future__ import annotations

import asyncio

import pytest
from fakes.contests import ITS_END, ONE_REPLY, Take, failing, model, of_branch, own, run_ids, said, spent
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool

from harness.errors import (
    AlreadyRunning,
    InvalidContinue,
    ModelOverloaded,
    NoMessages,
)
from harness.events import (
    AgentEnd,
    AgentStart,
    BranchEvent,
    Continuation,
    MessageUpdate,
    ParallelEnd,
    TurnStart,
)
from harness.messages import AssistantMessage, ToolResult, UserMessage, user
from harness.parallel.run import run_parallel
from harness.parallel.selection import PickFirst, Transparent
from harness.parallel.variant import ParallelVariant
from providers.demo import Break, Hang, Reply, Say


async def test_two_configurations_answer_concurrently_and_the_chosen_one_continues(make_agent, record):
    agent = make_agent("never asked", session_id="s")
    happened = record(agent)
    slow, fast = model("slow", "slow answer", delay=0.002), model("fast", "fast answer")

    done = await run_parallel(agent, "hi", [ParallelVariant(slow), ParallelVariant(fast)], Take(1))

    assert own(happened.events) == [
        "AgentStart",
        "MessageStart",
        "MessageEnd",
        "ParallelStart",
        "ParallelEnd",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    ids = run_ids(happened.events)
    assert ids == ("s.demo/slow/off.1", "s.demo/fast/off.1")
    assert [of_branch(happened.events, run_id) for run_id in ids] == [ONE_REPLY + ITS_END] * 2
    ended = [each.event.run_id for each in happened.of(BranchEvent) if isinstance(each.event, AgentEnd)]
    assert ended == [ids[1], ids[0]]
    assert [(each.selected_run_id, each.selected_index, each.reason) for each in happened.of(ParallelEnd)] == [
        (ids[1], 1, "because")
    ]
    assert said(agent) == ["hi", "fast answer"]
    assert (done.selected_index, done.result.text, done.result.stop_reason) == (1, "fast answer", "stop")
    assert [each.result.text for each in done.outcomes] == ["slow answer", "fast answer"]
    assert [each.original_length for each in done.outcomes] == [0, 0]


async def test_events_of_parallel_runs_name_their_run(make_agent, record):
    agent = make_agent("before", session_id="s")
    await agent.prompt("first")
    happened = record(agent)

    await run_parallel(
        agent, "second", [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"), config_id="bold")]
    )

    outer = happened.of(AgentStart)[0]
    starts = [each.event for each in happened.of(BranchEvent) if isinstance(each.event, AgentStart)]
    assert [each.run_id for each in starts] == list(run_ids(happened.events)) == ["s.demo/a/off.1", "s.bold.1"]
    assert {each.parent_run_id for each in starts} == {outer.run_id} == {"s.demo/script/off.2"}
    assert {each.session_id for each in starts} == {"s"}
    assert len({each.agent_id for each in (outer, *starts)}) == 3


async def test_same_configuration_twice_has_two_runs(make_agent, record):
    agent = make_agent("never asked", session_id="s")
    happened = record(agent)
    same = model("same", "one", "two")

    done = await run_parallel(agent, "hi", [ParallelVariant(same), ParallelVariant(same)], Take(1))
    again = await run_parallel(agent, "and?", [ParallelVariant(model("same", "three"))])

    ids = [each.run_id for each in (*done.outcomes, *again.outcomes)]
    assert ids == ["s.demo/same/off.1", "s.demo/same/off.2", "s.demo/same/off.3"]
    assert of_branch(happened.events, ids[0]) == of_branch(happened.events, ids[1]) == ONE_REPLY + ITS_END
    assert [each.result.text for each in done.outcomes] == ["one", "two"]
    assert said(agent) == ["hi", "two", "and?", "three"]


async def test_each_run_sees_the_earlier_conversation_and_no_other_run(make_agent):
    agent = make_agent("known")
    await agent.prompt("remember")
    left, right = model("left", "L"), model("right", "R")

    done = await run_parallel(
        agent, "what?", [ParallelVariant(left), ParallelVariant(right, system_prompt="Be brief.")]
    )

    requests = [each.provider.requests[0] for each in (left, right)]
    assert [[message.text for message in each.messages] for each in requests] == [["remember", "known", "what?"]] * 2
    assert [each.system for each in requests] == ["You help.", "Be brief."]
    assert [each.original_length for each in done.outcomes] == [2, 2]


async def test_failed_run_stops_no_other_and_is_not_chosen(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)

    done = await run_parallel(
        agent, "hi", [ParallelVariant(failing("broken")), ParallelVariant(model("well", "fine"))], PickFirst()
    )

    ids = run_ids(happened.events)
    assert of_branch(happened.events, ids[0]) == [*ONE_REPLY, "MessageEnd", "TurnEnd", "AgentEnd"]
    assert of_branch(happened.events, ids[1]) == ONE_REPLY + ITS_END
    assert own(happened.events)[-6:] == [
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    assert done.selected_index == 1
    assert done.reason == "the only one that succeeded"
    assert [each.succeeded for each in done.outcomes] == [False, True]
    assert said(agent) == ["hi", "fine"]


async def test_run_fails_and_keeps_the_prompt_when_all_variants_fail(make_agent, record):
    agent = make_agent("earlier", "later")
    await agent.prompt("before")
    happened = record(agent)

    done = await run_parallel(
        agent, "hi", [ParallelVariant(failing("a", "bad a")), ParallelVariant(failing("b", "bad b"))], Take(0)
    )

    assert own(happened.events) == [
        "AgentStart",
        "MessageStart",
        "MessageEnd",
        "ParallelStart",
        "ParallelEnd",
        "AgentEnd",
    ]
    assert [(each.selected_run_id, each.selected_index, each.reason) for each in happened.of(ParallelEnd)] == [
        ("", -1, "none succeeded")
    ]
    end = happened.of(AgentEnd)[0]
    assert (end.stop_reason, end.error, end.error_type) == ("error", "demo/a: bad a · demo/b: bad b", "RequestRejected")
    assert (done.selected_index, done.result.text) == (None, "")
    assert said(agent) == ["before", "earlier", "hi"]
    assert (await agent.continue_run()).text == "later"


async def test_abort_stops_all_variants_and_leaves_no_task(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    hangs = [ParallelVariant(model(name, Reply((Say("so far"), Hang())))) for name in ("a", "b")]

    run = asyncio.create_task(run_parallel(agent, "hi", hangs))
    await until(lambda: len([each for each in happened.of(BranchEvent) if isinstance(each.event, MessageUpdate)]) >= 4)
    agent.abort()
    done = await run

    ids = run_ids(happened.events)
    assert [of_branch(happened.events, run_id) for run_id in ids] == [
        [*ONE_REPLY, "MessageEnd", "TurnEnd", "AgentEnd"]
    ] * 2
    assert own(happened.events) == [
        "AgentStart",
        "MessageStart",
        "MessageEnd",
        "ParallelStart",
        "ParallelEnd",
        "AgentEnd",
    ]
    assert (happened.of(ParallelEnd)[0].selected_index, happened.of(ParallelEnd)[0].reason) == (-1, "aborted")
    assert (done.result.stop_reason, done.result.text, done.outcomes) == ("aborted", "", ())
    assert said(agent) == ["hi"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_abort_during_the_choice_keeps_the_prompt_and_counts_usage(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    judge = Take(0)
    judge.may.clear()

    run = asyncio.create_task(
        run_parallel(
            agent, "hi", [ParallelVariant(model("a", spent("A", 7))), ParallelVariant(model("b", spent("B", 9)))], judge
        )
    )
    await until(lambda: judge.asked)
    agent.abort()
    done = await run

    assert own(happened.events)[-2:] == ["ParallelEnd", "AgentEnd"]
    assert done.result.stop_reason == "aborted"
    assert said(agent) == ["hi"]
    assert agent.state.usage.input == done.result.usage.input == 16
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelled_caller_leaves_an_ended_run(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)

    run = asyncio.create_task(run_parallel(agent, "hi", [ParallelVariant(model("a", Reply((Hang(),))))]))
    await until(lambda: happened.of(BranchEvent))
    run.cancel()
    await asyncio.wait([run])

    assert run.cancelled()
    assert own(happened.events)[-2:] == ["ParallelEnd", "AgentEnd"]
    assert not agent.is_running
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_parallel_variants_are_one_run_of_the_agent(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    judge = Take(0)
    judge.may.clear()

    run = asyncio.create_task(
        run_parallel(agent, "hi", [ParallelVariant(model("a", "A")), ParallelVariant(model("b", "B"))], judge)
    )
    await until(lambda: judge.asked)
    running = agent.is_running
    with pytest.raises(AlreadyRunning):
        await agent.prompt("me too")
    with pytest.raises(AlreadyRunning):
        await run_parallel(agent, "and me", [ParallelVariant(model("c", "C"))])
    judge.may.set()
    await run

    assert (running, agent.is_running) == (True, False)
    assert len(happened.of(AgentStart)) == len(happened.of(AgentEnd)) == 1


async def test_tool_calls_of_the_chosen_run_are_published_once_in_pairs(make_agent, record):
    look = SimpleTool("look")
    agent = make_agent("never asked", tools=[look])
    happened = record(agent)
    winner, loser = model("w", calls("look", "look"), "seen"), model("l", calls("look"), "seen too")

    await run_parallel(agent, "hi", [ParallelVariant(loser), ParallelVariant(winner)], Take(1))

    assert own(happened.events)[5:] == [
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "ToolCallsReceived",
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "ToolExecutionStart",
        "ToolExecutionEnd",
        *["MessageStart", "MessageEnd"] * 2,
        "TurnEnd",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    assert [type(each) for each in agent.history] == [
        UserMessage,
        AssistantMessage,
        ToolResult,
        ToolResult,
        AssistantMessage,
    ]
    assert [each.turn for each in happened.of(TurnStart)] == [1, 2]
    assert agent.history.messages == happened.of(AgentEnd)[0].messages


async def test_restarted_reply_is_published_once(make_agent, record):
    agent = make_agent("never asked")
    happened = record(agent)
    broken = Reply((Say("half"), Break(ModelOverloaded("busy"))))

    await run_parallel(agent, "hi", [ParallelVariant(model("a", broken, "whole"))], Transparent())

    assert own(happened.events)[5:] == ["TurnStart", "MessageStart", "MessageEnd", "UsageUpdate", "TurnEnd", "AgentEnd"]
    assert said(agent) == ["hi", "whole"]


async def test_without_a_prompt_all_variants_continue_the_conversation(make_agent, record):
    agent = make_agent("never asked", messages=[user("still open")])
    happened = record(agent)
    one, two = model("a", "A"), model("b", "B")

    await run_parallel(agent, Continuation("rerun", "again"), [ParallelVariant(one), ParallelVariant(two)], Take(1))

    assert own(happened.events) == [
        "AgentStart",
        "ParallelStart",
        "ParallelEnd",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    starts = [*happened.of(AgentStart)] + [
        each.event for each in happened.of(BranchEvent) if isinstance(each.event, AgentStart)
    ]
    assert [each.continuation for each in starts] == [Continuation("rerun", "again")] * 3
    assert {each.parent_run_id for each in starts[1:]} == {starts[0].run_id}
    assert [message.text for message in one.provider.requests[0].messages] == ["still open"]
    assert said(agent) == ["still open", "B"]


async def test_parallel_continuation_requires_a_history(make_agent):
    agent = make_agent("done")
    branches = [ParallelVariant(model("a", "A"))]

    with pytest.raises(NoMessages):
        await run_parallel(agent, Continuation(), branches)
    await agent.prompt("hi")
    with pytest.raises(InvalidContinue):
        await run_parallel(agent, Continuation(), branches)

    assert said(agent) == ["hi", "done"]
