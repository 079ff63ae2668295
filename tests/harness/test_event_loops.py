from __future__ import annotations

import asyncio
import threading

import pytest
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool

from harness.errors import AlreadyRunning
from harness.function_tools.function_tool import tool
from harness.ports.tool import ToolOutput
from providers.demo import Hang, Reply


def test_agent_is_awaited_in_consecutive_event_loops(make_agent):
    agent = make_agent("first", "second")

    async def prompted() -> str:
        run = asyncio.create_task(agent.prompt("hi"))
        await asyncio.sleep(0)
        await agent.wait_until_idle()
        return (await run).text

    texts = [asyncio.run(prompted()) for _ in range(2)]

    assert texts == ["first", "second"]


def test_agent_is_closed_in_consecutive_event_loops(make_agent):
    agent = make_agent(Reply((Hang(),)), Reply((Hang(),)))

    async def closed() -> str:
        run = asyncio.create_task(agent.prompt("hi"))
        await until(lambda: agent.is_running)
        await agent.close()
        return (await run).stop_reason

    assert [asyncio.run(closed()) for _ in range(2)] == ["aborted", "aborted"]


async def test_another_thread_waits_for_the_end_of_a_run(make_agent):
    begun = threading.Event()
    agent = make_agent(Reply((Hang(),)))
    agent.subscribe(lambda event: begun.set())
    run = asyncio.create_task(agent.prompt("hi"))
    await until(begun.is_set)
    waiting = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(agent.wait_until_idle())))

    agent.abort()

    async with asyncio.timeout(5):
        await asyncio.gather(run, waiting)
    assert not agent.is_running


async def test_prompt_sync_during_a_run_is_rejected_and_does_not_disturb_it(make_agent, record):
    begun, released = threading.Event(), asyncio.Event()

    async def work(arguments, context) -> ToolOutput:
        begun.set()
        await released.wait()
        return ToolOutput.text("worked")

    agent = make_agent(calls("work"), "done", tools=[SimpleTool("work", work)])
    seen = record(agent)
    run = asyncio.create_task(agent.prompt("hi"))
    await until(begun.is_set)

    with pytest.raises(AlreadyRunning):
        await asyncio.to_thread(agent.prompt_sync, "me too")
    released.set()

    assert (await run).text == "done"
    assert [name for name in seen.names if name.startswith(("Tool", "Agent"))] == [
        "AgentStart",
        "ToolCallsReceived",
        "ToolExecutionStart",
        "ToolExecutionEnd",
        "AgentEnd",
    ]


async def test_tool_prompting_its_own_agent_is_rejected_and_the_run_continues(make_agent):
    @tool(risk="none")
    def again() -> str:
        return agent.prompt_sync("again").text

    agent = make_agent(calls("again"), "done", tools=[again])

    result = await agent.prompt("hi")

    assert result.text == "done"
    assert "AlreadyRunning" in result.messages[2].text
