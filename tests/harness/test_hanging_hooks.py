from __future__ import annotations

import asyncio

import pytest
from fakes.call_hooks import Acting, Watching
from fakes.runs import calls, deeds, results_of, steer_now, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.execution.results import STOPPED
from harness.messages import ToolCall
from harness.ports.hooks import CallVerdict


def busy() -> list[asyncio.Task]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@pytest.mark.parametrize("point", ["before", "after"])
async def test_hanging_hook_ends_with_an_abort(make_agent, record, point: str):
    hanging = asyncio.Event()

    async def hang(call: ToolCall) -> None:
        hanging.set()
        await asyncio.Event().wait()

    tool = SimpleTool("look")
    hook = Acting(hang) if point == "before" else Acting(after=hang)
    agent = make_agent(calls("look"), tools=[tool], hooks=[hook], cancel_grace_s=0.05)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await hanging.wait()
    agent.abort()
    async with asyncio.timeout(2):
        result = await run

    assert result.stop_reason == "aborted"
    assert deeds(happened.events) == ["start look", "fail look" if point == "before" else "end look"]
    assert bool(tool.ran) == (point == "after")
    assert busy() == []


async def test_hanging_hook_on_a_rejected_call_ends_with_an_abort(make_agent, record):
    hanging = asyncio.Event()

    async def hang(call: ToolCall) -> None:
        hanging.set()
        await asyncio.Event().wait()

    agent = make_agent(
        calls("nothing", "look"), tools=[SimpleTool("look")], hooks=[Acting(after=hang)], cancel_grace_s=0.05
    )
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await hanging.wait()
    agent.abort()
    async with asyncio.timeout(2):
        await run

    assert deeds(happened.events) == ["start nothing", "fail nothing", "start look", "fail look"]
    assert busy() == []


async def test_interrupted_calls_are_reported_to_hooks(make_agent):
    hook = Watching()
    tools = [sleeper("slow", 30), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("slow", "change"), tools=tools, approval="off", hooks=[hook])

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    agent.abort()
    await run

    assert hook.reported == [
        "before slow",
        "before change",
        "after slow: [interrupted after 0.0 s by the user]",
        f"after change: {STOPPED}",
    ]


async def test_hooks_are_not_called_for_a_call_that_will_not_start(make_agent, record):
    called = []

    async def steer(call: ToolCall) -> CallVerdict:
        called.append(call.name)
        agent.steer("wait")
        return None

    tools = [SimpleTool("change", risk="edit"), SimpleTool("again", risk="edit")]
    agent = make_agent(calls("change", "again"), "done", tools=tools, approval="off", hooks=[Acting(steer)])
    happened = record(agent)

    await agent.prompt("go")

    assert called == ["change"]
    assert deeds(happened.events) == ["start change", "fail change", "start again", "fail again"]
    assert [result.text for result in results_of(agent)] == ["Skipped due to queued user message."] * 2


@pytest.mark.parametrize("how", ["abort", "steer"])
async def test_hook_ignoring_cancellation_does_not_let_the_call_start(make_agent, record, how: str):
    hanging, released = asyncio.Event(), asyncio.Event()

    async def ignore(call: ToolCall) -> CallVerdict:
        hanging.set()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return None

    tool = SimpleTool("look")
    agent = make_agent(calls("look"), "done", tools=[tool], hooks=[Acting(ignore)], cancel_grace_s=0.02)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await hanging.wait()
    agent.abort() if how == "abort" else steer_now(agent, "wait")
    async with asyncio.timeout(2):
        await run
    released.set()
    await until(lambda: not busy())

    assert deeds(happened.events) == ["start look", "fail look"]
    assert not tool.ran


async def test_hook_swallowing_its_cancellation_does_not_let_anything_start(make_agent, record):
    hanging = asyncio.Event()

    async def swallow(call: ToolCall) -> CallVerdict:
        hanging.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return None

    tool, next_hook = SimpleTool("look"), Watching()
    agent = make_agent(calls("look"), tools=[tool], hooks=[Acting(swallow), next_hook])
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await hanging.wait()
    agent.abort()
    await run

    assert deeds(happened.events) == ["start look", "fail look"]
    assert not tool.ran
    assert next_hook.reported == [f"after look: {STOPPED}"]
