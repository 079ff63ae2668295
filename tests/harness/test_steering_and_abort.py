from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, results_of, texts_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.errors import (
    AlreadyRunning,
    RequestRejected,
)
from harness.events import (
    AgentEnd,
    MessageEnd,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from harness.messages import AssistantMessage, JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Break, Call, Hang, Reply, Say


async def test_steering_keeps_finished_results_skips_the_rest_and_is_sent_next(make_agent, requests):
    async def steered(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await until(lambda: tools[1].ran)
        agent.steer("stop, explain first")
        return ToolOutput.text("quick ran")

    tools = [SimpleTool("quick", steered), sleeper("slow", 30), SimpleTool("later", risk="edit")]
    agent = make_agent(calls("quick", "slow", "later"), "done", tools=tools, approval="off")

    await agent.prompt("go")

    quick, slow, later = results_of(agent)
    assert not quick.is_error
    assert slow.is_error
    assert later.text == "Skipped due to queued user message."
    assert not tools[2].ran
    last = requests(agent)[-1].messages
    assert [type(message).__name__ for message in last[-4:]] == ["ToolResult"] * 3 + ["UserMessage"]
    assert last[-1].text == "stop, explain first"


async def test_steering_after_the_final_reply_is_still_delivered(make_agent):
    agent = make_agent("first", "second")
    agent.subscribe(
        lambda event: (
            agent.steer("and more")
            if isinstance(event, MessageEnd)
            and isinstance(event.message, AssistantMessage)
            and not len(texts_of(agent)) > 1
            else None
        )
    )

    result = await agent.prompt("go")

    assert texts_of(agent)[-1] == "and more"
    assert result.text == "second"


async def test_follow_up_waits_for_a_successful_end(make_agent):
    agent = make_agent(calls("look"), "first", "second", tools=[SimpleTool("look")])
    agent.follow_up("then run the tests")

    result = await agent.prompt("go")

    assert texts_of(agent) == ["go", "then run the tests"]
    assert result.text == "second"


async def test_follow_up_is_kept_when_the_run_fails(make_agent):
    agent = make_agent(Reply((Break(RequestRejected("no")),)), "second")
    agent.follow_up("then run the tests")

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert [message.text for message in agent.drain_queues()] == ["then run the tests"]


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


async def test_abort_during_tools_answers_every_call_and_keeps_finished_results(make_agent, record):
    tools = [SimpleTool("quick"), sleeper("slow", 30), SimpleTool("after", risk="edit")]
    agent = make_agent(calls("quick", "slow", "after"), "again", tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: len(happened.of(ToolExecutionEnd)) == 1 and tools[1].ran)
    agent.abort()
    await run

    assert [result.is_error for result in results_of(agent)] == [False, True, True]
    assert not tools[2].ran
    starts = [event.call.id for event in happened.of(ToolExecutionStart)]
    ends = [event.result.call_id for event in happened.of(ToolExecutionEnd)]
    assert sorted(starts) == sorted(ends) == sorted(set(ends))
    assert (await agent.prompt("next")).text == "again"


async def test_cancelled_caller_cancels_the_run_and_is_cancelled(make_agent, record):
    agent = make_agent(Reply((Say("so far"), Hang())))
    happened = record(agent)

    caller = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(MessageUpdate))
    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert len(happened.of(AgentEnd)) == 1
    assert not agent.is_running


async def test_second_prompt_during_a_run_raises(make_agent):
    agent = make_agent(Reply((Hang(),)))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.is_running)

    with pytest.raises(AlreadyRunning):
        await agent.prompt("and this")

    agent.abort()
    await run


async def test_continue_after_a_failure_repeats_the_request(make_agent):
    agent = make_agent(calls("look"), Reply((Break(RequestRejected("no")),)), "at last", tools=[SimpleTool("look")])
    await agent.prompt("go")
    agent.history.replace(agent.history.messages[:-1])

    result = await agent.continue_run()

    assert result.text == "at last"
