from __future__ import annotations

import asyncio
import re

import pytest
from fakes.processes import is_alive
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.events import SubagentEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from harness.execution.context import Execution
from harness.execution.running import CANCELLED
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Call, Reply
from tools import builtin_tools
from tools.delegate import DelegateTool

AT_ONCE = "[interrupted after 0.0 s by the user]"


async def test_one_call_is_cancelled_and_the_others_continue(make_agent, record):
    release = asyncio.Event()

    async def wait(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await release.wait()
        return ToolOutput.text("went on")

    slow, other = sleeper("slow", 30), SimpleTool("other", wait)
    agent = make_agent(calls("slow", "other"), "done", tools=[slow, other])
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: slow.ran and other.ran)
    first = happened.of(ToolExecutionStart)[0].call.id
    assert agent.cancel_call(first)
    await until(lambda: happened.of(ToolExecutionEnd))
    release.set()
    result = await run

    assert result.stop_reason == "stop"
    assert [(each.text, each.is_error) for each in results_of(agent)] == [(AT_ONCE, True), ("went on", False)]
    assert happened.of(ToolExecutionEnd)[0].result.call_id == first


async def test_queued_call_never_starts_once_it_is_cancelled(make_agent, record):
    release = asyncio.Event()

    async def wait(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await release.wait()
        return ToolOutput.text("ran")

    first, second = SimpleTool("first", wait, risk="edit"), SimpleTool("second", risk="edit")
    reply = Reply((Call("first", {}, id="a"), Call("second", {}, id="b")))
    agent = make_agent(reply, "done", tools=[first, second], approval="off")

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: first.ran)
    assert agent.cancel_call("b")
    release.set()
    await run

    assert [each.text for each in results_of(agent)] == ["ran", CANCELLED]
    assert not second.ran


@pytest.mark.parametrize("limits", [Execution(), Execution(timeout=60)], ids=["unlimited", "limited"])
async def test_processes_of_a_cancelled_command_are_killed(make_agent, record, limits: Execution):
    command = "sleep 300 & echo $!; wait"
    agent = make_agent(
        calls("bash", command=command),
        "done",
        tools=builtin_tools(),
        approval="off",
        execution=limits,
    )
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: happened.of(ToolExecutionUpdate))
    child = int(happened.of(ToolExecutionUpdate)[0].view.output)
    assert is_alive(child)
    assert agent.cancel_call(happened.of(ToolExecutionStart)[0].call.id)
    await run

    assert not is_alive(child)
    assert re.fullmatch(rf"{child}\n\[interrupted after \d\.\d s by the user\]", results_of(agent)[0].text)


async def test_subagent_call_is_cancelled_and_the_subagent_continues(make_agent, record):
    slow = sleeper("slow", 30)
    script = (calls("delegate_subagent", task="look"), calls("slow"), "it was cancelled", "done")
    agent = make_agent(*script, tools=[DelegateTool(), slow])
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: slow.ran)
    inner = next(each.event for each in happened.of(SubagentEvent) if isinstance(each.event, ToolExecutionStart))
    assert not agent.cancel_call(inner.call.id, agent.session_id)
    assert agent.cancel_call(inner.call.id, inner.session_id)
    await run

    ends = [each.event.result.text for each in happened.of(SubagentEvent) if isinstance(each.event, ToolExecutionEnd)]
    assert ends == [AT_ONCE]
    assert results_of(agent)[-1].text == "it was cancelled"


async def test_call_is_cancelled_from_another_thread_while_the_run_is_streamed(make_agent):
    agent = make_agent(calls("slow"), "done", tools=[sleeper("slow", 30)])
    answers: list[bool] = []

    async with agent.stream("go") as events:
        async for event in events:
            if isinstance(event, ToolExecutionStart):
                answers.append(await asyncio.to_thread(events.cancel_call, event.call.id))

    assert answers == [True]
    assert events.result.stop_reason == "stop"
    assert [each.text for each in results_of(agent)] == [AT_ONCE]


async def test_call_that_is_not_running_cannot_be_cancelled(make_agent):
    agent = make_agent(calls("quick"), "done", tools=[SimpleTool("quick")])

    await agent.prompt("go")

    assert not agent.cancel_call(results_of(agent)[0].call_id)
    assert not agent.cancel_call("never was")
