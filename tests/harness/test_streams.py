from __future__ import annotations

import asyncio
import gc

import pytest
from fakes.runs import calls, results_of, texts_of, until
from fakes.simple_tools import SimpleTool, Work, sleeper

from harness.approval.modes import PLAN
from harness.approval.pending import PendingRequests
from harness.deltas import BlockDelta
from harness.errors import AgentError, AlreadyRunning, InvalidContinue, NoMessages
from harness.events import (
    AgentEnd,
    AgentStart,
    Continuation,
    Event,
    MessageUpdate,
    PlanSubmitted,
    QuestionAsked,
    RequestStart,
    ToolApprovalRequested,
    ToolExecutionUpdate,
)
from harness.messages import CustomMessage, Text, UserMessage
from harness.ports.hooks import Hooks
from harness.ports.tool import ToolOutput
from harness.user_requests import AllowOnce, Answer, Denied, Plan, PlanDecision, Question
from harness.views import TextView
from providers.demo import Call, Hang, Reply, Say, Think

STORY = Reply((Say("a long story"), Hang()))


async def test_stream_yields_one_run_and_then_its_result(make_agent, record):
    agent = make_agent("Hello there.")
    recorder = record(agent)
    stream = agent.stream("hi")

    with pytest.raises(AgentError, match="not ended"):
        _ = stream.result
    events = [event async for event in stream]

    assert events == recorder.events
    assert [type(events[0]), type(events[-1])] == [AgentStart, AgentEnd]
    assert (stream.result.text, agent.is_running) == ("Hello there.", False)


async def test_nothing_happens_before_the_first_event_is_requested(make_agent, requests):
    agent = make_agent("hello")

    agent.stream("hi")
    await asyncio.sleep(0)

    assert not agent.is_running
    assert requests(agent) == []


async def test_continuation_can_be_streamed(make_agent):
    agent = make_agent("again", messages=[UserMessage((Text("go"),))])

    stream = agent.stream(Continuation("rerun"))
    events = [event async for event in stream]

    assert events[0].continuation.kind == "rerun"
    assert stream.result.text == "again"


@pytest.mark.parametrize(("messages", "error"), [((), NoMessages), ((CustomMessage("note", {}),), InvalidContinue)])
async def test_invalid_continuation_raises_at_the_first_event(make_agent, messages, error):
    agent = make_agent(messages=messages)

    with pytest.raises(error):
        await anext(agent.stream(Continuation()))

    assert not agent.is_running


async def test_break_out_of_a_stream_aborts_the_run(make_agent, record):
    agent = make_agent(STORY)
    recorder = record(agent)

    async for event in agent.stream("hi"):
        if isinstance(event, MessageUpdate):
            break
    await until(lambda: not agent.is_running)

    assert recorder.events[-1].stop_reason == "aborted"


async def test_garbage_collected_stream_aborts_its_run(make_agent):
    agent = make_agent(STORY)
    stream = agent.stream("hi")
    await anext(stream)

    del stream
    gc.collect()

    await until(lambda: not agent.is_running)


@pytest.mark.parametrize("leave", ["aclose", "async with", "an exception", "cancelled"])
async def test_early_exit_waits_for_the_end_of_the_run(make_agent, record, leave):
    agent = make_agent(STORY)
    recorder = record(agent)
    stream = agent.stream("hi")

    await LEAVING[leave](stream)

    assert not agent.is_running
    assert recorder.events[-1].stop_reason == "aborted"


async def close(stream) -> None:
    await anext(stream)
    await stream.aclose()
    await stream.aclose()
    assert stream.result.stop_reason == "aborted"
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def leave_a_block(stream) -> None:
    async with stream as events:
        await anext(events)


async def fail(stream) -> None:
    async def read() -> None:
        async with stream as events:
            async for _ in events:
                raise LookupError

    with pytest.raises(LookupError):
        await read()


async def be_cancelled(stream) -> None:
    async def read() -> None:
        async for _ in stream:
            pass

    reading = asyncio.create_task(read())
    await until(lambda: stream._state.listener)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled()


LEAVING = {"aclose": close, "async with": leave_a_block, "an exception": fail, "cancelled": be_cancelled}


async def test_second_stream_is_rejected_and_the_current_run_continues(make_agent):
    agent = make_agent(calls("slow"), "done", tools=[sleeper("slow", 0.01)])
    first, second, third = agent.stream("one"), agent.stream("two"), agent.stream("three")
    await anext(first)

    with pytest.raises(AlreadyRunning):
        await anext(second)
    second.cancel()
    await second.aclose()
    del second
    async with third:
        pass
    gc.collect()

    assert [type(event) async for event in first][-1] is AgentEnd
    assert first.result.text == "done"
    assert texts_of(agent) == ["one"]


async def test_one_of_two_simultaneous_streams_is_rejected(make_agent):
    agent = make_agent("one")
    read = []

    async def events_of(name: str) -> list[Event]:
        got = []
        async for event in agent.stream(name):
            got.append(event)
            read.append(name)
        return got

    first, second = await asyncio.gather(events_of("a"), events_of("b"), return_exceptions=True)

    assert isinstance(first[-1], AgentEnd)
    assert isinstance(second, AlreadyRunning)
    assert set(read) == {"a"}
    assert texts_of(agent) == ["a"]


async def test_late_exit_from_a_stream_does_not_stop_the_next_run(make_agent):
    agent = make_agent("one", calls("slow"), "two", tools=[sleeper("slow", 0.01)])
    late = agent.stream("first")
    await anext(late)
    await agent.wait_until_idle()

    next_run = asyncio.create_task(agent.prompt("second"))
    await asyncio.sleep(0)
    assert agent.is_running
    late.cancel()
    await late.aclose()

    assert (await next_run).text == "two"


async def test_reading_to_the_end_does_not_stop_later_hooks(make_agent):
    class Slow(Hooks):
        ended = False

        async def after_loop(self, end) -> None:
            await asyncio.sleep(0.01)
            self.ended = True

    hook = Slow()
    agent = make_agent("one", hooks=[hook])

    async for event in agent.stream("first"):
        if isinstance(event, AgentEnd):
            break
    await until(lambda: not agent.is_running)

    assert hook.ended


async def test_stream_cancelled_before_its_start_never_starts(make_agent, requests):
    agent = make_agent("hello")
    stream = agent.stream("hi")

    stream.cancel()

    assert [event async for event in stream] == []
    assert requests(agent) == []


async def test_events_are_received_as_they_happen(make_agent):
    agent = make_agent(STORY)
    text = ""

    async with agent.stream("hi") as stream:
        async for event in stream:
            if isinstance(event, MessageUpdate) and isinstance(event.delta, BlockDelta):
                text += event.delta.text
            if text == "a long story":
                stream.cancel()

    assert stream.result.stop_reason == "aborted"
    assert stream.result.text == "a long story"


async def test_message_sent_through_a_stream_is_delivered(make_agent):
    agent = make_agent("one", "two", "three")
    stream = agent.stream("go")

    async for event in stream:
        if isinstance(event, RequestStart) and event.turn == 1:
            stream.follow_up("last")
            stream.inject("next")

    assert texts_of(agent) == ["go", "next", "last"]
    assert stream.result.text == "three"


async def test_questions_and_plans_are_answered_through_the_stream(make_agent):
    async def ask(arguments, context) -> ToolOutput:
        answer = await context.user.ask(Question("colour?"))
        verdict = await context.propose_plan(Plan("1. paint"))
        return ToolOutput.text(f"{answer.text} {verdict.feedback}")

    agent = make_agent(calls("ask"), "done", tools=[SimpleTool("ask", ask)], user=PendingRequests(), mode=PLAN)
    stream = agent.stream("go")

    async for event in stream:
        match event:
            case QuestionAsked(call_id=call_id):
                stream.answer(call_id, Answer("free_text", "red"))
            case PlanSubmitted():
                stream.review(PlanDecision(accepted=True, feedback="well"))

    assert results_of(agent)[0].text == "red well"


async def test_answering_an_agent_with_another_user_interaction_raises(make_agent):
    stream = make_agent("hello").stream("hi")

    with pytest.raises(AgentError, match="PendingRequests"):
        stream.respond("call_1", AllowOnce())
    with pytest.raises(AgentError, match="PendingRequests"):
        stream.answer("call_1", Answer("skipped"))
    with pytest.raises(AgentError, match="PendingRequests"):
        stream.review(PlanDecision(accepted=True))


async def test_callbacks_listeners_and_stream_see_the_same_events(make_agent, record):
    said = asyncio.Event()
    tool = SimpleTool("edit", half_way(said), risk="edit")
    agent = make_agent(EDITS, "as you say", STORY, tools=[tool], user=PendingRequests())
    called = record(agent)
    slow = agent.listen(capacity=1)
    listened: list[Event] = []
    listening = asyncio.create_task(listen(agent, listened))
    await asyncio.sleep(0)

    stream = agent.stream("paint")
    streamed = await converse(stream, said)
    await agent.close()
    await listening

    assert streamed == called.events == listened
    assert [name for name in names(streamed) if name != "MessageUpdate"] == [
        name async for name in slowly(slow) if name != "MessageUpdate"
    ]
    assert tool.ran == [{"path": "a"}]
    assert [result.is_error for result in results_of(agent)] == [False, True]
    assert texts_of(agent) == ["paint", "and c?", "go on"]
    assert stream.result.stop_reason == "aborted"
    assert [name for name in names(streamed) if name != "MessageUpdate"] == CONVERSATION


EDITS = Reply((Think("hm"), Call("edit", {"path": "a"}, id="a"), Call("edit", {"path": "b"}, id="b")))


def half_way(said: asyncio.Event) -> Work:
    async def work(arguments, context) -> ToolOutput:
        context.update(TextView("half"))
        await said.wait()
        return ToolOutput.text("changed")

    return work


async def listen(agent, heard: list[Event]) -> None:
    async for event in agent.listen():
        heard.append(event)


async def slowly(listener):
    async for event in listener:
        await asyncio.sleep(0)
        yield type(event).__name__


async def converse(stream, said: asyncio.Event) -> list[Event]:
    """Allow one call and deny another, send a message while the first runs, then more, and stop the last turn."""
    heard: list[Event] = []
    async for event in stream:
        heard.append(event)
        match event:
            case ToolApprovalRequested(call=call):
                stream.respond(call.id, AllowOnce() if call.id == "a" else Denied("not b"))
            case ToolExecutionUpdate():
                stream.inject("and c?")
                said.set()
            case RequestStart(turn=2):
                stream.follow_up("go on")
            case MessageUpdate(turn=3, delta=BlockDelta()):
                stream.cancel()
    return heard


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


MESSAGE = ("MessageStart", "MessageEnd")
APPROVAL = ("ToolApprovalRequested", "ToolApprovalResolved")
REPORTED = ("TurnStart", *MESSAGE, "RequestStart", *MESSAGE)
CONVERSATION = [
    "AgentStart",
    *(*REPORTED, "UsageUpdate"),
    *("ToolCallsReceived", *APPROVAL, *APPROVAL),
    *("ToolExecutionStart", "ToolExecutionEnd"),
    *("ToolExecutionStart", "ToolExecutionUpdate", "ToolExecutionEnd"),
    *(*MESSAGE, *MESSAGE),
    "TurnEnd",
    *(*REPORTED, "UsageUpdate", "TurnEnd"),
    *(*REPORTED, "TurnEnd"),
    "AgentEnd",
]


async def test_stream_cancelled_before_its_last_event_still_calls_later_hooks(make_agent):
    asked = []

    class After(Hooks):
        async def after_loop(self, end):
            asked.append(end.stop_reason)

    agent = make_agent("done", hooks=[After()])

    async def read() -> None:
        async for _ in agent.stream("hi"):
            pass

    reading = asyncio.create_task(read())
    agent.subscribe(lambda event: reading.cancel() if isinstance(event, AgentEnd) else None)
    await asyncio.wait([reading])

    assert asked == ["stop"]
