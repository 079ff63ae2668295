from __future__ import annotations

import asyncio
import time

import pytest
from fakes.simple_tools import SimpleTool, sleeper

from harness.errors import (
    AlreadyRunning,
    InvalidContinue,
    ModelOverloaded,
    ModelThrottled,
    NetworkError,
    NoMessages,
    RequestRejected,
)
from harness.events import (
    AgentEnd,
    LimitReached,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    RetryScheduled,
    ToolExecutionEnd,
    ToolExecutionStart,
    UsageUpdate,
)
from harness.limits import Limits
from harness.messages import AssistantMessage, Thinking, ToolResult, Usage, UserMessage
from harness.provider import BlockDelta
from providers.demo import Break, Call, Hang, Reply, Say, Think


def calls(*names: str, **arguments: str) -> Reply:
    return Reply(tuple(Call(name, dict(arguments)) for name in names))


def results_of(agent) -> list[ToolResult]:
    return [message for message in agent.history if isinstance(message, ToolResult)]


async def until(condition) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_plain_reply_has_its_events_in_order(make_agent, record):
    agent = make_agent("Hello there, friend, it is a fine day.")
    happened = record(agent)

    result = await agent.prompt("hi")

    updates = [name for name in happened.names if name == "MessageUpdate"]
    assert [name for name in happened.names if name != "MessageUpdate"] == [
        "AgentStart",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        "RequestStart",
        "MessageStart",
        "MessageEnd",
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ]
    assert len(updates) > 3
    assert result.text == "Hello there, friend, it is a fine day."
    assert result.stop_reason == "stop"
    assert [event.seq for event in happened.events] == list(range(1, len(happened.events) + 1))


async def test_deltas_arrive_while_the_provider_still_speaks(make_agent):
    agent = make_agent(Reply((Say("one two three four"), Hang())))
    heard = []
    agent.subscribe(lambda event: heard.append(event) if isinstance(event, MessageUpdate) else None)

    run = asyncio.create_task(agent.prompt("hi"))
    await until(lambda: len(heard) >= 3)
    agent.abort()
    result = await run

    assert result.stop_reason == "aborted"
    assert "".join(each.delta.text for each in heard if isinstance(each.delta, BlockDelta)) == "one two three four"


async def test_a_tool_turn_has_its_events_in_order(make_agent, record):
    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")])
    happened = record(agent)

    await agent.prompt("go")

    wanted = ("TurnStart", "RequestStart", "ToolExecutionStart", "ToolExecutionEnd", "TurnEnd", "AgentEnd")
    assert [name for name in happened.names if name in wanted] == [
        "TurnStart",
        "RequestStart",
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "TurnEnd",
        "TurnStart",
        "RequestStart",
        "TurnEnd",
        "AgentEnd",
    ]


async def test_reading_tools_run_together_and_answer_in_call_order(make_agent, record):
    agent = make_agent(calls("slow", "quick"), "done", tools=[sleeper("slow", 0.2), sleeper("quick", 0.1)])
    happened = record(agent)

    began = time.monotonic()
    await agent.prompt("go")

    assert time.monotonic() - began < 0.29
    assert [result.tool_name for result in results_of(agent)] == ["slow", "quick"]
    assert [end.result.tool_name for end in happened.of(ToolExecutionEnd)] == ["quick", "slow"]


async def test_mutating_tools_run_one_after_another_in_call_order(make_agent):
    seen: list[str] = []

    def writer(name: str, seconds: float) -> SimpleTool:
        async def work(arguments, context):
            from harness.tool import ToolOutput

            seen.append(f"{name} begins")
            await asyncio.sleep(seconds)
            seen.append(f"{name} ends")
            return ToolOutput.text("ok")

        return SimpleTool(name, work, risk="edit")

    agent = make_agent(calls("first", "second"), "done", tools=[writer("first", 0.02), writer("second", 0.0)])

    await agent.prompt("go")

    assert seen == ["first begins", "first ends", "second begins", "second ends"]


async def test_an_unknown_tool_is_answered_with_the_nearest_names(make_agent):
    agent = make_agent(calls("reed_file"), "done", tools=[SimpleTool("read_file")])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert result.text == "Error: unknown tool 'reed_file'; did you mean read_file?"


async def test_arguments_that_break_the_schema_never_execute(make_agent):
    tool = SimpleTool("look", required=("path",))
    agent = make_agent(calls("look"), "done", tools=[tool])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert result.text == "look needs path"
    assert tool.ran == []


async def test_arguments_that_are_no_json_never_execute_and_say_where(make_agent):
    tool = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}, raw='{"path": "a'),)), "done", tools=[tool])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert "not valid JSON" in result.text
    assert "character" in result.text
    assert tool.ran == []


async def test_a_call_cut_by_the_token_limit_is_answered_and_the_run_goes_on(make_agent):
    tool = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}, raw='{"path": "a'),), stop_reason="length"), "done", tools=[tool])

    result = await agent.prompt("go")

    (answer,) = results_of(agent)
    assert answer.is_error
    assert "incomplete due to max tokens" in answer.text
    assert tool.ran == []
    assert result.text == "done"
    assert result.error is None


async def test_a_tool_that_raises_is_an_error_result_and_the_run_goes_on(make_agent):
    async def work(arguments, context):
        raise ZeroDivisionError("by zero")

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look", work)])

    result = await agent.prompt("go")

    (answer,) = results_of(agent)
    assert answer.is_error
    assert "ZeroDivisionError: by zero" in answer.text
    assert result.text == "done"


async def test_call_ids_that_repeat_are_made_unique(make_agent):
    again = Reply((Call("look", {}, id="call_0"), Call("look", {}, id="call_0")))
    agent = make_agent(again, again, "done", tools=[SimpleTool("look")])

    await agent.prompt("go")

    ids = [result.call_id for result in results_of(agent)]
    assert len(ids) == 4
    assert len(set(ids)) == 4


async def test_steering_keeps_finished_results_skips_the_rest_and_is_heard_next(make_agent, requests):
    tools = [SimpleTool("quick"), sleeper("slow", 30), SimpleTool("later", risk="edit")]
    agent = make_agent(calls("quick", "slow"), "done", tools=tools)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran and tools[1].ran)
    agent.steer("stop, explain first")
    await run

    quick, slow = results_of(agent)
    assert not quick.is_error
    assert slow.is_error
    assert slow.text == "Skipped due to queued user message."
    last = requests(agent)[-1].messages
    assert [type(message).__name__ for message in last[-3:]] == ["ToolResult", "ToolResult", "UserMessage"]
    assert last[-1].text == "stop, explain first"


async def test_steering_after_the_last_word_is_still_heard(make_agent):
    agent = make_agent("first", "second")
    agent.subscribe(
        lambda event: (
            agent.steer("and more")
            if isinstance(event, MessageEnd)
            and isinstance(event.message, AssistantMessage)
            and not len(texts(agent)) > 1
            else None
        )
    )

    result = await agent.prompt("go")

    assert texts(agent)[-1] == "and more"
    assert result.text == "second"


def texts(agent) -> list[str]:
    return [message.text for message in agent.history if isinstance(message, UserMessage)]


async def test_a_follow_up_waits_for_a_clean_end(make_agent):
    agent = make_agent(calls("look"), "first", "second", tools=[SimpleTool("look")])
    agent.follow_up("then run the tests")

    result = await agent.prompt("go")

    assert texts(agent) == ["go", "then run the tests"]
    assert result.text == "second"


async def test_a_follow_up_is_kept_when_the_run_fails(make_agent):
    agent = make_agent(Reply((Break(RequestRejected("no")),)), "second")
    agent.follow_up("then run the tests")

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert [message.text for message in agent.take_back()] == ["then run the tests"]


async def test_abort_mid_stream_keeps_the_text_and_leaves_no_call_open(make_agent, record, requests):
    agent = make_agent(Reply((Say("so far"), Call("look", {"a": 1}), Hang())), "again", tools=[SimpleTool("look")])
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: any(getattr(each.delta, "index", 0) == 1 for each in happened.of(MessageUpdate)))
    agent.abort()
    result = await run
    second = await agent.prompt("next")

    assert result.stop_reason == "aborted"
    assert result.text == "so far"
    assert len(happened.of(AgentEnd)) == 2
    assert second.text == "again"
    assert not any(
        message.tool_calls for message in requests(agent)[-1].messages if isinstance(message, AssistantMessage)
    )


async def test_abort_during_tools_answers_every_call_and_keeps_what_was_done(make_agent, record):
    tools = [SimpleTool("quick"), sleeper("slow", 30), SimpleTool("after", risk="edit")]
    agent = make_agent(calls("quick", "slow", "after"), "again", tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(happened.of(ToolExecutionEnd)) >= 2)
    agent.abort()
    await run

    assert [result.is_error for result in results_of(agent)] == [False, True, False]
    starts = [event.call.id for event in happened.of(ToolExecutionStart)]
    ends = [event.result.call_id for event in happened.of(ToolExecutionEnd)]
    assert sorted(starts) == sorted(ends) == sorted(set(ends))
    assert (await agent.prompt("next")).text == "again"


async def test_a_cancelled_caller_cancels_the_run_and_gets_its_cancellation(make_agent, record):
    agent = make_agent(Reply((Say("so far"), Hang())))
    happened = record(agent)

    caller = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(MessageUpdate))
    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert len(happened.of(AgentEnd)) == 1
    assert not agent.is_running


async def test_a_second_prompt_during_a_run_is_refused(make_agent):
    agent = make_agent(Reply((Hang(),)))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.is_running)

    with pytest.raises(AlreadyRunning):
        await agent.prompt("and this")

    agent.abort()
    await run


async def test_continuing_needs_something_to_continue(make_agent):
    agent = make_agent("hello")

    with pytest.raises(NoMessages):
        await agent.continue_run()
    await agent.prompt("hi")
    with pytest.raises(InvalidContinue):
        await agent.continue_run()


async def test_continuing_after_a_failure_asks_again(make_agent):
    agent = make_agent(calls("look"), Reply((Break(RequestRejected("no")),)), "at last", tools=[SimpleTool("look")])
    await agent.prompt("go")
    agent.history.replace(agent.history.messages[:-1])

    result = await agent.continue_run()

    assert result.text == "at last"


async def test_a_retryable_failure_is_tried_again(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down")),)), Reply((Break(ModelOverloaded("busy")),)), "here")
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "here"
    assert [event.attempt for event in happened.of(RetryScheduled)] == [1, 2]
    assert happened.of(MessageDiscarded) == []


async def test_a_failure_after_the_first_words_discards_them_and_counts_usage_once(make_agent, record):
    cut = Reply((Say("half an ans"), Break(NetworkError("the connection was cut"))))
    agent = make_agent(cut, Reply((Say("the whole answer"),), usage=Usage(10, 5)))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.text == "the whole answer"
    (discarded,) = happened.of(MessageDiscarded)
    starts = [event.message_id for event in happened.of(MessageStart) if event.role == "assistant"]
    assert discarded.message_id == starts[0] != starts[1]
    assert [event.total.output for event in happened.of(UsageUpdate)] == [5]
    assert sum(isinstance(message, AssistantMessage) for message in agent.history) == 1


async def test_a_refusal_is_not_retried_and_stands_in_the_history(make_agent, record):
    agent = make_agent(Reply((Break(RequestRejected("400: no")),)), "fine")
    happened = record(agent)

    result = await agent.prompt("go")
    again = await agent.prompt("go on")

    assert result.stop_reason == "error"
    assert result.error == "400: no"
    assert happened.of(RetryScheduled) == []
    assert again.text == "fine"


async def test_a_service_that_asks_for_too_long_a_wait_is_not_waited_for(make_agent, record):
    agent = make_agent(Reply((Break(ModelThrottled("slow down", retry_after=3600)),)))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert happened.of(RetryScheduled) == []


async def test_the_turn_limit_ends_the_run_and_says_so(make_agent, record):
    agent = make_agent(calls("look"), calls("look"), "never", tools=[SimpleTool("look")], limits=Limits(max_turns=2))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.limit == "turns"
    assert len(happened.of(LimitReached)) == 1
    last = agent.history.last
    assert isinstance(last, UserMessage)
    assert last.text == "[Agent stopped: the limit of 2 turns is reached]"


async def test_thinking_stands_before_what_was_said(make_agent):
    agent = make_agent(Reply((Think("hm", signature="sig"), Say("hello"))))

    await agent.prompt("hi")

    reply = agent.history.last_reply()
    assert reply is not None
    assert reply.content[0] == Thinking("hm", "sig")


async def test_streaming_hands_out_every_event_up_to_the_end(make_agent):
    agent = make_agent("Hello there, friend.")

    names = [type(event).__name__ async for event in agent.stream("hi")]

    assert names[0] == "AgentStart"
    assert names[-1] == "AgentEnd"
    assert not agent.is_running


async def test_leaving_a_stream_early_aborts_the_run(make_agent):
    agent = make_agent(Reply((Say("a long story"), Hang())))

    events = agent.stream("hi")
    async for event in events:
        if isinstance(event, MessageUpdate):
            break
    await events.aclose()

    assert not agent.is_running


def test_prompting_without_an_event_loop_works_twice(make_agent):
    agent = make_agent(calls("look"), "first", calls("look"), "second", tools=[SimpleTool("look")])

    assert agent.prompt_sync("hi").text == "first"
    assert agent.prompt_sync("hi").text == "second"


async def test_prompting_synchronously_works_beside_a_running_loop(make_agent):
    agent = make_agent("hello")

    assert agent.prompt_sync("hi").text == "hello"


async def test_a_subscriber_that_raises_is_removed_and_the_run_goes_on(make_agent):
    agent = make_agent("hello")
    heard = []

    def broken(event):
        heard.append(event)
        raise RuntimeError("no")

    agent.subscribe(broken)

    assert (await agent.prompt("hi")).text == "hello"
    assert len(heard) == 1
