from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.agent.limits import Limits
from harness.deltas import BlockDelta
from harness.events import (
    LimitReached,
    MessageUpdate,
    ToolExecutionEnd,
)
from harness.messages import Thinking, UserMessage
from providers.demo import Call, Hang, Reply, Say, Think


async def test_plain_reply_publishes_its_events_in_order(make_agent, record):
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


async def test_deltas_arrive_while_the_provider_is_streaming(make_agent):
    agent = make_agent(Reply((Say("one two three four"), Hang())))
    heard = []
    agent.subscribe(lambda event: heard.append(event) if isinstance(event, MessageUpdate) else None)

    run = asyncio.create_task(agent.prompt("hi"))
    await until(lambda: len(heard) >= 3)
    agent.abort()
    result = await run

    assert result.stop_reason == "aborted"
    assert "".join(each.delta.text for each in heard if isinstance(each.delta, BlockDelta)) == "one two three four"


async def test_tool_turn_publishes_its_events_in_order(make_agent, record):
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


async def test_reading_tools_run_concurrently_and_answer_in_call_order(make_agent, record):
    agent = make_agent(calls("slow", "quick"), "done", tools=[sleeper("slow", 0.02), sleeper("quick", 0)])
    happened = record(agent)

    await agent.prompt("go")

    assert [result.tool_name for result in results_of(agent)] == ["slow", "quick"]
    assert [end.result.tool_name for end in happened.of(ToolExecutionEnd)] == ["quick", "slow"]


async def test_mutating_tools_run_sequentially_in_call_order(make_agent):
    seen: list[str] = []

    def writer(name: str, seconds: float) -> SimpleTool:
        async def work(arguments, context):
            from harness.ports.tool import ToolOutput

            seen.append(f"{name} begins")
            await asyncio.sleep(seconds)
            seen.append(f"{name} ends")
            return ToolOutput.text("ok")

        return SimpleTool(name, work, risk="edit")

    agent = make_agent(calls("first", "second"), "done", tools=[writer("first", 0.02), writer("second", 0.0)])

    await agent.prompt("go")

    assert seen == ["first begins", "first ends", "second begins", "second ends"]


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["read_file"], "did you mean read_file?"),
        (["read_files", "red_file", "read_file", "grep"], "did you mean red_file or read_file?"),
        (["grep", "bash"], "available tools: grep, bash"),
    ],
)
async def test_unknown_tool_is_answered_with_the_nearest_names(make_agent, names, hint):
    agent = make_agent(calls("reed_file"), "done", tools=[SimpleTool(name) for name in names])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert result.text == f"Error: unknown tool 'reed_file'; {hint}"


async def test_arguments_violating_the_schema_never_execute(make_agent):
    tool = SimpleTool("look", required=("path",))
    agent = make_agent(calls("look"), "done", tools=[tool])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert result.text == "look needs path"
    assert tool.ran == []


async def test_invalid_json_arguments_never_execute_and_name_the_position(make_agent):
    tool = SimpleTool("look")
    agent = make_agent(Reply((Call("look", {}, raw='{"path": "a'),)), "done", tools=[tool])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert "not valid JSON" in result.text
    assert "character" in result.text
    assert tool.ran == []


async def test_raising_tool_gives_an_error_result_and_the_run_continues(make_agent):
    async def work(arguments, context):
        raise ZeroDivisionError("by zero")

    agent = make_agent(calls("look"), "done", tools=[SimpleTool("look", work)])

    result = await agent.prompt("go")

    (answer,) = results_of(agent)
    assert answer.is_error
    assert "ZeroDivisionError: by zero" in answer.text
    assert result.text == "done"


async def test_repeated_call_ids_are_made_unique(make_agent):
    again = Reply((Call("look", {}, id="call_0"), Call("look", {}, id="call_0")))
    agent = make_agent(again, again, "done", tools=[SimpleTool("look")])

    await agent.prompt("go")

    ids = [result.call_id for result in results_of(agent)]
    assert len(ids) == 4
    assert len(set(ids)) == 4


async def test_turn_limit_ends_the_run_with_its_stop_reason(make_agent, record):
    agent = make_agent(calls("look"), calls("look"), "never", tools=[SimpleTool("look")], limits=Limits(max_turns=2))
    happened = record(agent)

    result = await agent.prompt("go")

    assert result.limit == "turns"
    assert len(happened.of(LimitReached)) == 1
    last = agent.history.messages[-1]
    assert isinstance(last, UserMessage)
    assert last.text == "[Agent stopped: the limit of 2 turns is reached]"


async def test_thinking_precedes_the_text(make_agent):
    agent = make_agent(Reply((Think("hm", signature="sig"), Say("hello"))))

    await agent.prompt("hi")

    reply = agent.history.last_reply()
    assert reply is not None
    assert reply.content[0] == Thinking("hm", "sig")
