from __future__ import annotations

import asyncio
import logging

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, deeds, results_of, steer_now, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.approval.modes import PLAN
from harness.execution.context import Execution
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from harness.user_requests import Answer, Plan, PlanDecision, Question
from harness.views import TextView
from providers.demo import Call, Reply
from tools import builtin_tools

AT_ONCE = Execution(timeout=0.02)
LATE = "Error: tool 'slow' timed out after 0.02 s"


async def test_timed_out_call_is_an_error_and_the_run_continues(make_agent, record):
    agent = make_agent(
        calls("slow", "quick"), "done", tools=[sleeper("slow", 30), SimpleTool("quick")], execution=AT_ONCE
    )
    happened = record(agent)

    result = await agent.prompt("go")

    assert deeds(happened.events) == ["start slow", "start quick", "end quick", "fail slow"]
    assert [each.text for each in results_of(agent)] == [LATE, "quick ran"]
    assert result.text == "done"


async def test_call_within_its_timeout_is_unaffected(make_agent, record):
    agent = make_agent(calls("slow"), "done", tools=[sleeper("slow", 0)], execution=Execution(timeout=30))
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start slow", "end slow"]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


@pytest.mark.parametrize(
    ("execution", "is_late"),
    [
        (Execution(timeout=30, timeouts={"slow": 0.02}), True),
        (Execution(timeouts={"slow": 0.02}), True),
        (Execution(timeout=0.02, timeouts={"slow": None}), False),
        (Execution(timeout=0.02, timeouts={"slow": 30}), False),
        (Execution(timeouts={"other": 0.02}), False),
    ],
)
async def test_tool_can_have_its_own_timeout(make_agent, execution: Execution, is_late: bool):
    agent = make_agent(calls("slow"), "done", tools=[sleeper("slow", 0.06)], execution=execution)

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == [LATE if is_late else "slow slept"]


async def test_cleanup_of_a_timed_out_tool_is_awaited(make_agent, record):
    cleaned = []

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.02)
            cleaned.append(True)
        return ToolOutput.text("never")

    agent = make_agent(calls("slow"), "done", tools=[SimpleTool("slow", work)], execution=AT_ONCE)

    await agent.prompt("go")

    assert cleaned
    assert [each.text for each in results_of(agent)] == [LATE]


async def test_output_after_the_timeout_is_ignored(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return ToolOutput.text("after all")
        return ToolOutput.text("never")

    agent = make_agent(calls("slow"), "done", tools=[SimpleTool("slow", work)], execution=AT_ONCE)

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == [LATE]


@pytest.mark.parametrize("ending", ["answers", "breaks"])
async def test_tool_ignoring_its_timeout_is_abandoned(make_agent, record, caplog, ending: str):
    released = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        context.update(TextView("too late"))
        if ending == "breaks":
            raise RuntimeError("much too late")
        return ToolOutput.text("too late")

    tools = [SimpleTool("slow", work), SimpleTool("quick")]
    agent = make_agent(calls("slow"), calls("quick"), "done", tools=tools, execution=AT_ONCE, cancel_grace_s=0.02)
    happened = record(agent)

    with caplog.at_level(logging.WARNING, "asyncio"):
        result = await agent.prompt("go")
        released.set()
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    assert deeds(happened.events) == ["start slow", "fail slow", "start quick", "end quick"]
    assert results_of(agent)[0].text.startswith(f"{LATE}. The call did not stop")
    assert result.text == "done"
    assert caplog.records == []


async def test_tool_raising_its_own_timeout_error_has_failed(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        raise TimeoutError("the server did not answer")

    agent = make_agent(calls("slow"), "done", tools=[SimpleTool("slow", work)], execution=Execution(timeout=30))

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["slow failed: TimeoutError: the server did not answer"]


async def test_tool_cancelling_itself_has_failed(make_agent):
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        raise asyncio.CancelledError

    agent = make_agent(calls("slow"), "done", tools=[SimpleTool("slow", work)], execution=Execution(timeout=30))

    result = await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["slow failed: CancelledError: "]
    assert result.text == "done"


@pytest.mark.parametrize("how", ["abort", "steer"])
async def test_call_with_a_timeout_stops_on_abort(make_agent, record, how: str):
    tool = sleeper("slow", 30)
    agent = make_agent(calls("slow"), "done", tools=[tool], execution=Execution(timeout=30))
    happened = record(agent)

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tool.ran)
    agent.abort() if how == "abort" else steer_now(agent, "wait")
    async with asyncio.timeout(2):
        await run

    assert deeds(happened.events) == ["start slow", "fail slow"]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_call_with_a_timeout_does_not_start_after_another_aborted_the_run(make_agent, record):
    async def abort(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.abort()
        return ToolOutput.text("aborted")

    tools = [SimpleTool("abort", abort), SimpleTool("look")]
    agent = make_agent(calls("abort", "look"), tools=tools, execution=Execution(timeout=30))
    happened = record(agent)

    await agent.prompt("go")

    assert not tools[1].ran
    assert sorted(deeds(happened.events)) == ["end abort", "fail look", "start abort", "start look"]


class Thoughtful(ScriptedUser):
    """Tool that takes longer than any timeout."""

    async def ask(self, question: Question) -> Answer:
        await asyncio.sleep(0.05)
        return Answer("free_text", "blue")

    async def review_plan(self, plan: Plan) -> PlanDecision:
        await asyncio.sleep(0.05)
        return PlanDecision(accepted=True)


async def test_waiting_for_the_user_has_no_timeout(make_agent, record):
    both = Reply((Call("ask_user", {"prompt": "which?"}), Call("submit_plan", {"plan": "1. paint"})))
    agent = make_agent(both, "done", tools=builtin_tools(), user=Thoughtful(), mode=PLAN, execution=AT_ONCE)
    happened = record(agent)

    await agent.prompt("go")

    assert [each.is_error for each in results_of(agent)] == [False, False]
    assert deeds(happened.events) == [
        "start ask_user",
        "ask ask_user",
        "start submit_plan",
        "answer ask_user",
        "end ask_user",
        "end submit_plan",
    ]


async def test_question_tool_can_be_given_a_timeout_by_name(make_agent, record):
    ask = Reply((Call("ask_user", {"prompt": "which?"}),))
    execution = Execution(timeouts={"ask_user": 0.02})
    agent = make_agent(ask, "done", tools=builtin_tools(), user=Thoughtful(), execution=execution)
    happened = record(agent)

    await agent.prompt("go")

    assert results_of(agent)[0].text == "Error: tool 'ask_user' timed out after 0.02 s"
    assert deeds(happened.events) == ["start ask_user", "ask ask_user", "answer ask_user", "fail ask_user"]
