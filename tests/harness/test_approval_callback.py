from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.decisions import needs_approval
from fakes.family import one
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.presets import preset
from harness.approval.pending import ANSWER_SECONDS, PendingRequests
from harness.events import SubagentEvent, ToolApprovalRequested
from harness.messages import ToolCall
from harness.ports.interaction import NonInteractive
from harness.publishing import innermost
from harness.risk import Risk
from harness.user_requests import (
    AllowForSession,
    AllowOnce,
    AllowWithArguments,
    Approval,
    ApprovalRequest,
    Denied,
    Question,
)
from providers.demo import scripted
from tools.delegate import DelegateTool


async def only_make(request: ApprovalRequest) -> Approval | bool:
    return request.call.arguments.get("command") == "make"


async def test_async_function_is_enough_to_approve_calls() -> None:
    run = SimpleTool("run", risk="execute")
    agent = Agent(
        scripted(calls("run", command="make"), calls("run", command="rm"), "done"),
        [run],
        options=AgentOptions(approve=only_make),
    )

    await agent.prompt("go")

    assert run.ran == [{"command": "make"}]
    assert "denied" in results_of(agent)[1].text


async def test_function_also_decides_about_subagent_calls() -> None:
    asked: list[str] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request.label)
        return True

    run = SimpleTool("run", risk="execute")
    tools = [DelegateTool(), run]
    agent = Agent(one(calls("run", command="make"), "done"), tools, options=AgentOptions(approve=approve))

    await agent.prompt("go")

    assert run.ran == [{"command": "make"}]
    assert asked == ["Subagent dig: Run"]


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        (AllowOnce(), [{"command": "rm"}]),
        (AllowForSession(), [{"command": "rm"}]),
        (AllowWithArguments({"command": "make"}), [{"command": "make"}]),
        (Denied("no"), []),
        (None, []),
        ("yes", []),
    ],
)
async def test_sync_function_can_return_any_approval(answer: Approval, ran: list[object]) -> None:
    run = SimpleTool("run", risk="execute")
    options = AgentOptions(approve=lambda _: answer)
    agent = Agent(scripted(calls("run", command="rm"), "done"), [run], options=options)

    await agent.prompt("go")

    assert run.ran == ran
    if answer is None:
        assert "the approval callback returned None" in results_of(agent)[0].text


async def test_questions_still_go_to_the_user() -> None:
    options = replace(preset("phi"), user=PendingRequests(timeout=0.0), approve=only_make)

    assert options.approve is None
    assert (await options.user.ask(Question("?"))).status == "timed_out"
    assert replace(options, user=NonInteractive()).user is not options.user
    assert isinstance(replace(options, user=NonInteractive()).user, NonInteractive)


async def test_event_loop_consumer_finds_subagent_requests() -> None:
    run = SimpleTool("run", risk="execute")
    agent = Agent(one(calls("run"), "done"), [DelegateTool(), run], options=AgentOptions(user=PendingRequests()))
    wrapped = 0

    async with asyncio.timeout(10), agent.stream("go") as stream:
        async for event in stream:
            match innermost(event):
                case ToolApprovalRequested(call=call):
                    wrapped += isinstance(event, SubagentEvent)
                    stream.respond(call.id, AllowOnce())
                case _:
                    pass

    assert (wrapped, run.ran) == (1, [{}])


async def test_request_missed_by_the_consumer_is_denied_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ANSWER_SECONDS == 300.0
    limits: list[float | None] = []
    wait = asyncio.wait

    async def at_once(tasks: object, **options: float | None) -> object:
        limits.append(options["timeout"])
        return await wait(tasks, timeout=0)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr("harness.approval.pending.asyncio.wait", at_once)

    assert await PendingRequests().approve(_request()) == Denied(
        "approval timed out; continue without it", non_interactive=True
    )
    assert limits == [300.0]


def _request() -> ApprovalRequest:
    return ApprovalRequest(ToolCall("c1", "run", {}), "Run", "", needs_approval(Risk("execute")), None, Path())
