from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, results_of, texts_of, until
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.retry import RetryPolicy
from harness.context.pipeline import to_llm
from harness.context.policy import NO_STAGES, ContextPolicy
from harness.errors import Aborted, ContextWindowOverflow, RequestRejected, StreamError
from harness.events import (
    AgentEnd,
    ContextTrimmed,
    MessageDiscarded,
    MessageEnd,
    Notice,
    RequestStart,
    RetryScheduled,
    UsageUpdate,
)
from harness.messages import CustomMessage, UserMessage, user
from harness.ports.provider import ModelInfo, StaticModelInfo
from harness.ports.tool import ToolOutput
from providers.demo import Break, Call, Reply, Say, Think, scripted

TOO_LONG = Reply((Break(ContextWindowOverflow("too long")),))
ONE_TURN = ["TurnStart", "MessageStart", "MessageEnd"]


def plain(names: list[str]) -> list[str]:
    return [name for name in names if name not in ("MessageUpdate", "UsageUpdate")]


async def test_transform_runs_before_the_conversion_each_turn(make_agent, requests):
    log: list[str] = []

    async def transform(messages, overflow):
        log.append(f"transform {len(messages)} {overflow}")
        return [user("remember: be brief"), *messages]

    def convert(message):
        log.append("convert")
        return to_llm(message)

    agent = make_agent(
        calls("look"),
        "done",
        tools=[SimpleTool("look")],
        transform_context=transform,
        convert_to_llm=convert,
    )

    await agent.prompt("go")

    assert log == ["transform 1 False", *["convert"] * 2, "transform 3 False", *["convert"] * 4]
    assert requests(agent)[0].messages[0].text == "remember: be brief"
    assert texts_of(agent) == ["go"]


async def test_custom_messages_stay_in_the_conversation_and_never_reach_a_model(make_agent, requests, record):
    agent = make_agent("done")
    seen = record(agent)

    await agent.prompt([CustomMessage("bookmark", {"line": 3}), user("go")])

    assert [type(message).__name__ for message in agent.history] == ["CustomMessage", "UserMessage", "AssistantMessage"]
    assert [message.text for message in requests(agent)[0].messages] == ["go"]
    assert isinstance(seen.of(MessageEnd)[0].message, CustomMessage)


async def test_application_can_convert_a_custom_message_for_the_model(make_agent, requests):
    def convert(message):
        return user(f"bookmark at {message.data['line']}") if isinstance(message, CustomMessage) else message

    agent = make_agent("done", convert_to_llm=convert)

    await agent.prompt([CustomMessage("bookmark", {"line": 3}), user("go")])

    assert [message.text for message in requests(agent)[0].messages] == ["bookmark at 3", "go"]


async def test_a_key_is_fetched_for_each_request(make_agent, requests):
    keys = iter(["first", "second"])

    async def fetch(provider):
        return f"{provider} {next(keys)}"

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look")], get_api_key=fetch)

    await agent.prompt("go")

    assert [request.api_key for request in requests(agent)] == ["demo first", "demo second"]
    assert "first" not in repr(requests(agent))


@pytest.mark.parametrize("part", ["transform_context", "convert_to_llm", "get_api_key"])
async def test_exception_around_a_request_is_a_failed_reply(make_agent, record, part):
    def broken(*_):
        raise KeyError("oops")

    agent = make_agent("never", **{part: broken})
    seen = record(agent)

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert isinstance(result.failure, StreamError)
    assert "oops" in result.error
    assert plain(seen.names)[-4:] == ["MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"]


async def test_provider_violating_its_contract_is_a_failed_reply(make_agent):
    agent = make_agent(Reply((Break(ZeroDivisionError("bug")),)), "still here")

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert "ZeroDivisionError" in result.error
    assert (await agent.prompt("on")).text == "still here"


async def test_overflow_is_recovered_once_per_turn(make_agent, record, requests):
    long = "words " * 4000
    history = [user("the beginning"), *(each for n in range(20) for each in (user(f"{n} {long}"),))]
    agent = make_agent(TOO_LONG, "done", messages=history, window=NO_STAGES)
    seen = record(agent)

    result = await agent.prompt("go")

    assert plain(seen.names) == [
        *["AgentStart", *ONE_TURN, "RequestStart", "ContextTrimmed"],
        *["RequestStart", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"],
    ]
    first, second = requests(agent)
    assert len(second.messages) < len(first.messages)
    assert (second.messages[0].text, second.messages[-1].text) == ("the beginning", "go")
    assert seen.of(RequestStart)[1].tokens <= seen.of(RequestStart)[0].tokens / 2
    assert result.text == "done"
    assert len(agent.history) == 23


async def test_the_second_overflow_is_the_typed_error(make_agent, record):
    agent = make_agent(TOO_LONG, TOO_LONG)
    seen = record(agent)

    result = await agent.prompt("go")

    end = seen.of(AgentEnd)[0]
    assert (end.stop_reason, end.error_type) == ("error", "ContextWindowOverflow")
    assert len(seen.of(RequestStart)) == 2
    with pytest.raises(ContextWindowOverflow, match="too long"):
        result.raise_for_failure()


async def test_transform_sees_the_overflow_and_can_recover_it_itself(make_agent, requests):
    flags: list[bool] = []

    async def transform(messages, overflow):
        flags.append(overflow)
        return messages[-1:] if overflow else messages

    agent = make_agent(
        TOO_LONG,
        "done",
        messages=[user("x" * 4000), user("y" * 4000)],
        transform_context=transform,
        window=ContextPolicy(overflow_tokens=500),
    )

    await agent.prompt("go")

    assert flags == [False, True]
    assert [message.text for message in requests(agent)[1].messages] == ["go"]
    assert agent.state.context.budget == 0


async def test_later_turns_respect_the_limit_learned_from_an_overflow(make_agent, record):
    history = [user("word " * 2000) for _ in range(10)]
    agent = make_agent(TOO_LONG, calls("look"), "done", tools=[SimpleTool("look")], messages=history, window=NO_STAGES)
    seen = record(agent)

    await agent.prompt("go")

    assert seen.of(RequestStart)[2].tokens <= agent.state.context.budget
    assert [event.reason for event in seen.of(ContextTrimmed)] == ["overflow"]


async def test_short_conversation_continues_after_an_overflow(make_agent):
    agent = make_agent(calls("look"), TOO_LONG, TOO_LONG, "still here", tools=[SimpleTool("look")], window=NO_STAGES)
    await agent.prompt("go")
    assert agent.state.context.budget

    result = await agent.prompt("word " * 200)

    assert result.text == "still here"


async def test_overflow_after_partial_text_discards_it(make_agent, record):
    broken = Reply((Say("half an answer"), Break(ContextWindowOverflow("too long"))))
    agent = make_agent(broken, "done", messages=[user("x" * 9000), user("y" * 9000)], window=NO_STAGES)
    seen = record(agent)

    result = await agent.prompt("go")

    assert len(seen.of(MessageDiscarded)) == 1
    assert result.text == "done"


async def test_context_is_shrunk_before_the_service_rejects_it(make_agent, record, requests):
    history = [user(f"{n} " + "word " * 400) for n in range(20)]
    agent = make_agent("done", messages=history, window=replace(NO_STAGES, window=3000))
    seen = record(agent)

    await agent.prompt("go")

    assert seen.of(ContextTrimmed)[0].reason == "window"
    assert seen.of(RequestStart)[0].tokens <= 3000
    assert requests(agent)[0].messages[-1].text == "go"


async def test_unlimited_model_window_bounds_the_context_after_an_overflow(make_agent, record):
    model = scripted(TOO_LONG, "done")
    model = replace(model, info=StaticModelInfo(ModelInfo(context_window=1000)))
    agent = make_agent(model=model, messages=[user("word " * 3000) for _ in range(5)], window=NO_STAGES)
    seen = record(agent)

    await agent.prompt("go")

    assert agent.state.context.budget == seen.of(RequestStart)[0].tokens // 2
    assert seen.of(ContextTrimmed)[0].dropped >= 4


async def test_empty_reply_is_requested_again(make_agent, record, requests):
    agent = make_agent(Reply((Think("hm"),)), "", "an answer")
    seen = record(agent)

    result = await agent.prompt("go")

    assert plain(seen.names) == [
        *["AgentStart", *ONE_TURN],
        *["RequestStart", "MessageStart", "UsageAdded", "MessageDiscarded", "RetryScheduled"],
        *["RequestStart", "MessageStart", "UsageAdded", "MessageDiscarded", "RetryScheduled"],
        *["RequestStart", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"],
    ]
    assert [event.attempt for event in seen.of(RetryScheduled)] == [1, 2]
    assert result.text == "an answer"
    assert len(agent.history) == 2
    assert len(requests(agent)) == 3


async def test_usage_of_uncounted_replies_is_included(make_agent, record):
    agent = make_agent(Reply((Think("hm"),)), "an answer")
    seen = record(agent)

    result = await agent.prompt("go")

    updates = seen.of(UsageUpdate)
    assert len(updates) == 2
    assert result.usage.output == sum(event.usage.output for event in updates)


async def test_empty_reply_is_reported_when_retries_run_out(make_agent, record):
    agent = make_agent("", "", "", "never")
    seen = record(agent)

    result = await agent.prompt("go")

    assert (result.stop_reason, result.text) == ("stop", "")
    assert "empty response" in seen.of(Notice)[0].text
    assert len(seen.of(RequestStart)) == 3


async def test_empty_reply_after_tool_results_is_retried_without_running_them_again(make_agent):
    tool = SimpleTool("look")
    agent = make_agent(calls("look"), "", "found it", tools=[tool])

    result = await agent.prompt("go")

    assert result.text == "found it"
    assert len(tool.ran) == len(results_of(agent)) == 1


async def test_abort_while_waiting_to_retry_leaves_an_aborted_reply(make_agent, record):
    agent = make_agent("", "never", retry=RetryPolicy(empty_delay=60))
    seen = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: seen.of(RetryScheduled))
    agent.abort()
    result = await run

    assert plain(seen.names)[-5:] == ["RetryScheduled", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"]
    with pytest.raises(Aborted):
        result.raise_for_failure()


async def test_call_truncated_at_the_token_limit_gets_a_result_and_the_run_continues(make_agent, record):
    tool = SimpleTool("write", risk="read")
    half = Reply((Call("write", {}, raw='{"text": "half of'),), stop_reason="length")
    agent = make_agent(half, "in smaller pieces", tools=[tool])
    seen = record(agent)

    result = await agent.prompt("go")

    assert plain(seen.names) == [
        *["AgentStart", *ONE_TURN, "RequestStart", "MessageStart", "MessageEnd"],
        *["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd"],
        *["TurnStart", "RequestStart", "MessageStart", "MessageEnd", "TurnEnd", "AgentEnd"],
    ]
    assert tool.ran == []
    (answer,) = results_of(agent)
    assert answer.is_error
    assert "incomplete due to max tokens" in answer.text
    assert (result.text, result.stop_reason, result.error) == ("in smaller pieces", "stop", None)


async def test_terminating_output_is_the_last_of_its_run(make_agent, record, requests):
    async def last(arguments, context):
        return ToolOutput((), terminate=True)

    agent = make_agent(calls("submit"), "never", tools=[SimpleTool("submit", last)])
    agent.follow_up("later")
    seen = record(agent)

    result = await agent.prompt("go")

    assert len(requests(agent)) == 1
    assert plain(seen.names)[-6:] == [
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "MessageStart",
        "MessageEnd",
        "TurnEnd",
        "AgentEnd",
    ]
    assert result.stop_reason == "stop"
    assert [message.text for message in agent.drain_queues()] == ["later"]


async def test_result_reports_the_totals(make_agent):
    agent = make_agent("fine", Reply((Break(RequestRejected("no")),)))

    (await agent.prompt("go")).raise_for_failure()

    with pytest.raises(RequestRejected):
        (await agent.prompt("go")).raise_for_failure()
    assert isinstance(agent.history.messages[0], UserMessage)


async def test_omitted_messages_are_reported_when_their_number_grows(make_agent, record):
    history = [user(f"{n} " + "word " * 400) for n in range(20)]
    agent = make_agent(
        *[calls("look")] * 12,
        "done",
        tools=[SimpleTool("look")],
        messages=history,
        window=replace(NO_STAGES, window=3000),
    )
    seen = record(agent)

    await agent.prompt("go")

    reported = [event.dropped for event in seen.of(ContextTrimmed)]
    assert reported == sorted(set(reported))
    assert len(reported) < len(seen.of(RequestStart)) / 2
