from __future__ import annotations

import asyncio
import re

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, deeds, results_of, steer_now, texts_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.events import AgentEnd, MessageUpdate, RequestStart, SubagentEvent, ToolExecutionUpdate
from harness.execution.context import Execution
from harness.messages import AssistantMessage, JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.views import TerminalView, TextView
from providers.demo import Hang, Reply, Say
from tools import builtin_tools
from tools.delegate import DelegateTool

SKIPPED = "Skipped due to queued user message."
AT_ONCE = re.compile(r"\[interrupted after 0\.\d s by the user\]")


@pytest.mark.parametrize("mode", ["interrupt", "after_batch"])
async def test_interrupting_the_turn_delivers_the_queued_message_at_once(make_agent, record, mode: str):
    tools = [sleeper("slow", 30, risk="edit"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("slow", "change"), "done", tools=tools, approval="off", steering_mode=mode)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    steer_now(agent, "wait")
    result = await run

    assert (result.stop_reason, result.text) == ("stop", "done")
    assert texts_of(agent) == ["go", "wait"]
    slow, change = results_of(agent)
    assert AT_ONCE.fullmatch(slow.text)
    assert (slow.is_error, change.text) == (True, SKIPPED)
    assert deeds(happened.events) == ["start slow", "fail slow", "start change", "fail change"]


async def test_interrupting_a_streamed_reply_keeps_its_text_and_continues_with_the_message(make_agent, record):
    agent = make_agent(Reply((Say("so far"), Hang())), "done")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(MessageUpdate))
    steer_now(agent, "shorter")
    result = await run

    replies = [each for each in agent.history if isinstance(each, AssistantMessage)]
    assert [(each.text, each.stop_reason) for each in replies] == [("so far", "aborted"), ("done", "stop")]
    assert texts_of(agent) == ["go", "shorter"]
    assert result.stop_reason == "stop"
    assert len(happened.of(AgentEnd)) == 1


async def test_without_queued_messages_the_model_gets_the_interrupted_results(make_agent):
    tools = [sleeper("slow", 30, risk="edit"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("slow", "change"), "done", tools=tools, approval="off")

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    assert agent.interrupt()
    result = await run

    assert result.text == "done"
    assert results_of(agent)[1].text == "Skipped: the user interrupted the turn before the call began."


async def test_interruption_lasts_one_turn_and_requires_one(make_agent):
    tools = [sleeper("slow", 30), SimpleTool("quick")]
    agent = make_agent(calls("slow"), calls("quick"), "done", "again", tools=tools)

    assert not agent.interrupt()
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    steer_now(agent, "wait")
    await run

    assert results_of(agent)[1].text == "quick ran"
    assert not agent.interrupt()
    assert (await agent.prompt("once more")).text == "again"


async def test_interrupted_subagent_returns_its_last_message(make_agent, record):
    dig = Reply((Say("I found a door."), *calls("look").parts))
    parts = {"go": [delegates("dig"), "I stopped it."], "dig": [dig, Reply((Hang(),))]}
    agent = make_agent(model=cast(parts), tools=[DelegateTool(), SimpleTool("look")])
    seen = record(agent)

    def requests_of_the_child() -> int:
        return sum(isinstance(each.event, RequestStart) for each in seen.of(SubagentEvent))

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: requests_of_the_child() == 2)
    steer_now(agent, "stop that")
    await run

    text = results_of(agent)[0].text
    assert text.startswith("Subagent dig was stopped. Its last message:\n\nI found a door.\n[interrupted after")
    assert texts_of(agent) == ["go", "stop that"]


@pytest.mark.parametrize("limits", [Execution(), Execution(timeout=60)], ids=["unlimited", "limited"])
@pytest.mark.parametrize("how", ["abort", "interrupt", "cancel"])
async def test_stopped_command_keeps_its_output_for_the_user_and_the_model(make_agent, record, how: str, limits):
    command = "seq 3; printf '  half a line'; sleep 100"
    agent = make_agent(calls("bash", command=command), "done", tools=builtin_tools(), approval="off", execution=limits)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: any("half" in each.view.output for each in happened.of(ToolExecutionUpdate)))
    match how:
        case "abort":
            agent.abort()
        case "interrupt":
            agent.interrupt()
        case _:
            agent.cancel_call(happened.of(ToolExecutionUpdate)[0].call_id)
    await run

    result = results_of(agent)[0]
    note = re.fullmatch(r"1\n2\n3\n  half a line\n\[(interrupted after \d\.\d s by the user)\]", result.text)
    assert note
    assert result.view == TerminalView(command, "1\n2\n3\n  half a line", note=note[1])
    assert result.is_error
    assert result.details
    assert result.details["interrupted"] is True


async def test_interrupted_tool_returns_its_partial_output(make_agent):
    async def registers(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.on_interrupt(lambda: "two of five done")
        await asyncio.sleep(30)
        return ToolOutput.text("never")

    async def shows(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.update(TextView("at 40 %"))
        await asyncio.sleep(30)
        return ToolOutput.text("never")

    async def breaks(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.on_interrupt(lambda: 1 // 0)
        await asyncio.sleep(30)
        return ToolOutput.text("never")

    tools = [SimpleTool("registers", registers), SimpleTool("shows", shows), SimpleTool("breaks", breaks)]
    agent = make_agent(calls("registers", "shows", "breaks"), "done", tools=tools)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: all(tool.ran for tool in tools))
    agent.interrupt()
    await run

    texts = [AT_ONCE.sub("…", each.text) for each in results_of(agent)]
    assert texts == ["two of five done\n…", "at 40 %\n…", "…"]


async def test_timed_out_call_keeps_its_output(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.on_interrupt(lambda: "half of it")
        await asyncio.sleep(30)
        return ToolOutput.text("never")

    agent = make_agent(calls("slow"), "done", tools=[SimpleTool("slow", work)], execution=Execution(timeout=0.02))

    await agent.prompt("go")

    assert results_of(agent)[0].text == ("Error: tool 'slow' timed out after 0.02 s. Output so far:\nhalf of it")


async def test_partial_output_is_truncated_like_any_other(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        context.on_interrupt(lambda: "x" * 5000)
        await asyncio.sleep(30)
        return ToolOutput.text("never")

    tool = SimpleTool("slow", work)
    agent = make_agent(calls("slow"), "done", tools=[tool], execution=Execution(max_result_chars=1000))

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tool.ran)
    agent.interrupt()
    await run

    text = results_of(agent)[0].text
    assert len(text) < 1500
    assert AT_ONCE.search(text)
