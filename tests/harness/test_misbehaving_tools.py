from __future__ import annotations

import asyncio

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, results_of, steer_now, texts_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.errors import AlreadyRunning
from harness.events import (
    AgentEnd,
    AgentStart,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolExecutionEnd,
    ToolExecutionUpdate,
)
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TextView
from providers.demo import Call, Hang, Reply, Say
from tools import builtin_tools


def stubborn(name: str, released: asyncio.Event, **options) -> SimpleTool:
    """Return a tool that ignores its cancellation until it is released, and then still publishes output."""

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        context.update(TextView("too late"))
        return ToolOutput.text("too late")

    return SimpleTool(name, work, **options)


@pytest.mark.parametrize("interrupt", ["abort", "steer"])
async def test_tool_ignoring_cancellation_is_abandoned_and_ignored(make_agent, record, interrupt):
    released = asyncio.Event()
    tool = stubborn("stuck", released)
    agent = make_agent(calls("stuck"), "again", tools=[tool], cancel_grace_s=0.02)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tool.ran)
    agent.abort() if interrupt == "abort" else steer_now(agent, "stop")
    async with asyncio.timeout(2):
        await run
    before = asyncio.all_tasks()
    released.set()
    await until(lambda: len(asyncio.all_tasks()) < len(before))

    assert "did not stop" in results_of(agent)[0].text
    assert len(happened.of(ToolExecutionEnd)) == 1
    assert not happened.of(ToolExecutionUpdate)


async def test_tool_that_cancels_itself_has_failed(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        raise asyncio.CancelledError

    tools = [SimpleTool("stumble", work, risk="edit"), SimpleTool("after", risk="edit")]
    agent = make_agent(calls("stumble", "after"), "done", tools=tools, approval="off")

    result = await agent.prompt("go")

    assert result.text == "done"
    assert [each.is_error for each in results_of(agent)] == [True, False]


@pytest.mark.parametrize("method", ["validate", "risk", "summary", "preview"])
async def test_call_that_cannot_be_assessed_does_not_run_and_the_run_continues(make_agent, method):
    def fail(*_: object) -> Risk:
        raise RuntimeError("a bug")

    tool = SimpleTool("broken", risk="edit")
    setattr(tool, method, fail)
    agent = make_agent(calls("broken"), "done", tools=[tool])

    result = await agent.prompt("go")

    assert result.text == "done"
    assert len(results_of(agent)) == 1
    assert not tool.ran


async def test_steering_during_an_open_request_skips_previously_allowed_calls(make_agent):
    class Steering(ScriptedUser):
        async def approve(self, request):
            agent.steer("no, wait")
            return await super().approve(request)

    tools = [SimpleTool("look"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("look", "change"), "done", tools=tools, user=Steering())

    await agent.prompt("go")

    assert not tools[0].ran
    assert not tools[1].ran
    assert texts_of(agent) == ["go", "no, wait"]


async def test_abort_withdraws_an_open_request(make_agent, record):
    class Absent(ScriptedUser):
        async def approve(self, request):
            self.asked.append(request)
            await asyncio.Event().wait()

    user = Absent()
    agent = make_agent(calls("change"), tools=[SimpleTool("change", risk="edit")], user=user)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: user.asked)
    agent.abort()
    await run

    assert len(happened.of(ToolApprovalRequested)) == 1
    assert [event.decision for event in happened.of(ToolApprovalResolved)] == ["denied"]


async def test_calls_of_a_reply_stopped_by_the_service_do_not_run(make_agent):
    tool = SimpleTool("look")
    agent = make_agent(Reply((Say("so far"), Call("look", {})), stop_reason="error", error="refused"), tools=[tool])

    result = await agent.prompt("go")

    assert result.stop_reason == "error"
    assert result.text == "so far"
    assert not tool.ran


async def test_run_aborted_before_its_first_step_keeps_the_prompt(make_agent, record):
    agent = make_agent("never said")
    happened = record(agent)
    agent.subscribe(lambda event: agent.abort() if isinstance(event, AgentStart) else None)

    result = await agent.prompt("go")

    assert result.stop_reason == "aborted"
    assert texts_of(agent) == ["go"]
    assert len(happened.of(AgentEnd)) == 1


async def test_continue_during_a_run_leaves_the_queue_unchanged(make_agent):
    agent = make_agent(Reply((Hang(),)))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.is_running)
    agent.follow_up("and then")

    with pytest.raises(AlreadyRunning):
        await agent.continue_run()

    agent.abort()
    await run
    assert [message.text for message in agent.drain_queues()] == ["and then"]


async def test_caller_cancelled_twice_still_waits_for_the_end_of_its_run(make_agent):
    cleaned = []

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            cleaned.append(True)
        return ToolOutput.text("never")

    tool = SimpleTool("slow", work)
    agent = make_agent(calls("slow"), tools=[tool])
    caller = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tool.ran)

    caller.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        await caller
    assert len(results_of(agent)) == 1
    assert not agent.is_running
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_late_read_of_a_stream_does_not_abort_the_next_run(make_agent):
    agent = make_agent("first", calls("slow"), "second", tools=[sleeper("slow", 0.03)])
    stream = agent.stream("one")
    await anext(stream)
    await agent.wait_until_idle()
    run = asyncio.create_task(agent.prompt("two"))
    await until(lambda: agent.is_running)

    last = [event async for event in stream][-1]
    result = await run

    assert isinstance(last, AgentEnd)
    assert result.text == "second"


async def test_workspace_error_keeps_its_message(make_agent):
    read = Reply((Call("read_file", {"path": "nothing.txt"}),))
    agent = make_agent(read, "done", tools=builtin_tools())

    await agent.prompt("go")

    assert results_of(agent)[0].text.startswith("nothing.txt does not exist.")
