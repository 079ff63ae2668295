from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from fakes.processes import is_alive
from fakes.runs import calls, deeds, results_of, texts_of, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.agent.tool_calls import STEERING_GRACE_S
from harness.events import ToolExecutionEnd
from harness.execution.context import Execution
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from tools import builtin_tools

SKIPPED = "Skipped due to queued user message."


def held(name: str, release: asyncio.Event, **options) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await release.wait()
        return ToolOutput.text(f"{name} ran")

    return SimpleTool(name, work, **options)


async def test_interrupting_message_cancels_running_calls_and_keeps_finished_results(make_agent, record):
    release = asyncio.Event()
    tools = [held("quick", release), sleeper("slow", 30), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("quick", "slow", "change"), "done", tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[1].ran)
    agent.steer("wait")
    release.set()
    await run

    assert deeds(happened.events) == [
        "start quick",
        "start slow",
        "end quick",
        "fail slow",
        "start change",
        "fail change",
    ]
    quick, slow, change = results_of(agent)
    assert (quick.text, change.text) == ("quick ran", SKIPPED)
    assert re.fullmatch(r"\[interrupted after 0\.\d s by the user\]", slow.text)
    assert not tools[2].ran


async def test_steering_cancels_no_running_call_before_one_has_completed(make_agent, record):
    first, second = asyncio.Event(), asyncio.Event()
    tools = [held("first", first), held("second", second)]
    agent = make_agent(calls("first", "second"), "done", tools=tools)
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: all(tool.ran for tool in tools))
    agent.steer("wait")
    # Ten times the grace period of interrupted calls.
    await asyncio.sleep(10 * STEERING_GRACE_S)
    assert not happened.of(ToolExecutionEnd)
    first.set()
    await run

    assert deeds(happened.events)[2:] == ["end first", "fail second"]


async def test_call_ending_within_the_grace_period_keeps_its_result_and_nothing_new_starts(make_agent, record):
    release = asyncio.Event()
    tools = [held("slow", release, risk="edit"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("slow", "change"), "done", tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    agent.steer("wait")
    asyncio.get_running_loop().call_later(0.01, release.set)
    await run

    assert deeds(happened.events) == ["start slow", "end slow", "start change", "fail change"]
    assert [result.text for result in results_of(agent)] == ["slow ran", SKIPPED]
    assert not tools[1].ran


async def test_message_withdrawn_before_a_call_completes_interrupts_nothing(make_agent, record):
    release = asyncio.Event()

    async def wait(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await release.wait()
        agent.drain_queues()
        return ToolOutput.text("ran")

    tools = [SimpleTool("slow", wait, risk="edit"), SimpleTool("change", risk="edit")]
    agent = make_agent(calls("slow", "change"), "done", tools=tools, approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    agent.steer("wait")
    asyncio.get_running_loop().call_later(0.01, release.set)
    await run

    assert deeds(happened.events) == ["start slow", "end slow", "start change", "end change"]
    assert [result.text for result in results_of(agent)] == ["ran", "change ran"]
    assert texts_of(agent) == ["go"]


async def test_after_batch_lets_running_calls_finish_and_skips_the_rest(make_agent, record):
    release = asyncio.Event()
    tools = [SimpleTool("quick"), held("slow", release, risk="edit"), SimpleTool("change", risk="edit")]
    agent = make_agent(
        calls("quick", "slow", "change"), "done", tools=tools, approval="off", steering_mode="after_batch"
    )
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[1].ran)
    agent.steer("and then")
    release.set()
    await run

    assert deeds(happened.events)[-3:] == ["end slow", "start change", "fail change"]
    assert [result.text for result in results_of(agent)] == ["quick ran", "slow ran", SKIPPED]
    assert texts_of(agent) == ["go", "and then"]


@pytest.mark.parametrize(("concurrency", "done"), [("sequential", 1), (2, 2)])
async def test_after_batch_message_skips_groups_that_have_not_started(make_agent, record, concurrency, done: int):
    release = asyncio.Event()
    tools = [held(name, release) for name in ("one", "two", "three", "four")]
    agent = make_agent(
        calls("one", "two", "three", "four"),
        "done",
        tools=tools,
        steering_mode="after_batch",
        execution=Execution(concurrency),
    )
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[done - 1].ran)
    agent.steer("and then")
    release.set()
    await run

    ran = [tool.name for tool in tools[:done]]
    skipped = [tool.name for tool in tools[done:]]
    assert deeds(happened.events) == [
        *[f"start {name}" for name in ran],
        *[f"end {name}" for name in ran],
        *[f"{what} {name}" for name in skipped for what in ("start", "fail")],
    ]
    assert [result.text for result in results_of(agent)[done:]] == [SKIPPED] * len(skipped)
    assert not any(tool.ran for tool in tools[done:])


@pytest.mark.parametrize("mode", ["interrupt", "after_batch"])
async def test_sequential_steering_between_two_calls_skips_the_second(make_agent, record, mode: str):
    async def steer(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.steer("wait")
        return ToolOutput.text("ran")

    tools = [SimpleTool("one", steer), SimpleTool("two")]
    agent = make_agent(calls("one", "two"), "done", tools=tools, steering_mode=mode, execution=Execution("sequential"))
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start one", "end one", "start two", "fail two"]


async def test_abort_does_not_wait_for_an_after_batch_message(make_agent, record):
    tools = [sleeper("slow", 30)]
    agent = make_agent(calls("slow"), tools=tools, steering_mode="after_batch")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran)
    agent.abort()
    async with asyncio.timeout(2):
        result = await run

    assert result.stop_reason == "aborted"
    assert deeds(happened.events) == ["start slow", "fail slow"]


@pytest.mark.parametrize("stubborn", ["", "trap '' TERM; "], ids=["obedient", "stubborn"])
async def test_steered_command_leaves_no_process_after_a_second(make_agent, record, tmp_path: Path, stubborn: str):
    command = f"{stubborn}sleep 100 & echo $! > child; echo $$ > parent; sleep 100"
    agent = make_agent(calls("bash", command=command), "done", tools=builtin_tools(), approval="off")
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(
        lambda: all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in ("child", "parent"))
    )
    pids = [int((tmp_path / name).read_text()) for name in ("child", "parent")]
    assert all(is_alive(pid) for pid in pids)
    agent.steer("stop")
    assert agent.interrupt()
    async with asyncio.timeout(1):
        while any(is_alive(pid) for pid in pids):
            await asyncio.sleep(0.01)
    await run

    assert deeds(happened.events)[-1] == "fail bash"
    assert "interrupted after" in results_of(agent)[0].text
