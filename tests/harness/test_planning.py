"""Planning phase: its own limit on turns, and how it ends without a user."""

from __future__ import annotations

import pytest
from fakes.family import cast, delegates
from fakes.people import ScriptedUser
from fakes.runs import calls, results_of, texts_of
from fakes.simple_tools import SimpleTool
from msgspec.structs import replace

from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.agent.planning import LAST_TURN
from harness.agent.presets import preset
from harness.agent.reminders import MOVED_ON, mode_reminder
from harness.approval.modes import EXECUTE, PLAN, Planning
from harness.approval.store import RuleStore
from harness.events import LimitReached, ModeChanged, PlanSubmitted, QuestionAsked
from harness.messages import JsonObject
from harness.permissions import Rule
from harness.ports.interaction import NonInteractive
from harness.ports.tool import Tool
from harness.tool_mentions import mention
from harness.user_requests import Answer
from providers.demo import Call, Reply, scripted
from tools.delegate import DelegateTool
from tools.plan import UNASKED, PlanTool

LOOK = [calls("look", at=str(number)) for number in range(40)]
PLAN_MODE_ON = mode_reminder(PLAN, ["submit_plan"])
PLANNED = calls("submit_plan", plan="1. Do it.")


def tools() -> tuple[SimpleTool, SimpleTool, list[Tool]]:
    look, run = SimpleTool("look"), SimpleTool("run", risk="execute")
    return look, run, [look, run, PlanTool()]


def planner(*script: Reply | str, options: AgentOptions, offered: list[Tool]) -> tuple[Agent, list[object]]:
    agent = Agent(scripted(*script), offered, options=options)
    seen: list[object] = []
    agent.subscribe(seen.append)
    return agent, seen


async def test_planning_that_exhausts_its_turns_is_reminded_of_the_plan_and_ends() -> None:
    look, _, offered = tools()
    options = AgentOptions(mode=PLAN, planning=Planning(max_turns=3))
    agent, seen = planner(*LOOK, options=options, offered=offered)

    result = await agent.prompt("go")

    assert len(look.ran) == 3
    assert texts_of(agent)[:3] == ["go", PLAN_MODE_ON, mention(LAST_TURN)]
    assert (result.limit, result.stop_message) == ("turns", "planning used its 3 turns, and no plan was accepted")
    assert [event.limit for event in seen if isinstance(event, LimitReached)] == ["turns"]
    assert agent.state.mode is PLAN


async def test_plan_execute_moves_to_execution_when_planning_exhausts_its_turns() -> None:
    look, run, offered = tools()
    options = replace(preset("cinch"), limits=Limits(max_turns=3))
    agent, seen = planner(*LOOK[:10], calls("run"), "done", options=options, offered=offered)

    result = await agent.prompt("go")

    assert (len(look.ran), len(run.ran), result.text, result.limit) == (10, 1, "done", "")
    assert texts_of(agent) == ["go", PLAN_MODE_ON, mention(LAST_TURN), MOVED_ON]
    assert [event.mode for event in seen if isinstance(event, ModeChanged)] == ["execute"]


@pytest.mark.parametrize(
    ("answer", "ran", "limit"),
    [
        (Answer("selected", "Continue", 0), 1, ""),
        (Answer("selected", "Stop", 1), 0, "turns"),
        (Answer("skipped"), 0, "turns"),
        (None, 1, ""),
    ],
)
async def test_user_is_asked_before_execution_without_a_plan_and_without_a_user_it_starts(
    answer: Answer | None, ran: int, limit: str
) -> None:
    _, run, offered = tools()
    user = ScriptedUser() if answer else NonInteractive()
    if isinstance(user, ScriptedUser) and answer:
        user.answers.append(answer)
    planning = Planning(max_turns=2, on_limit="execute")
    options = AgentOptions(mode=PLAN, planning=planning, user=user, grants=RuleStore(rules=[Rule("run")]))
    agent, seen = planner(*LOOK[:2], calls("run"), "done", options=options, offered=offered)

    result = await agent.prompt("go")

    asked = [event.question.prompt for event in seen if isinstance(event, QuestionAsked)]
    question = "Planning has used its 2 turns, and no plan was accepted. Continue with all tools?"
    assert asked == ([question] if answer else [])
    assert (len(run.ran), result.limit) == (ran, limit)
    assert agent.state.mode is (PLAN if limit else EXECUTE)


@pytest.mark.parametrize("order", [("submit_plan", "run"), ("run", "submit_plan")])
async def test_calls_in_the_reply_of_an_accepted_plan_do_not_run(order: tuple[str, str]) -> None:
    _, run, offered = tools()
    arguments: dict[str, JsonObject] = {"submit_plan": {"plan": "1. Do it."}, "run": {}}
    batch = Reply(tuple(Call(name, arguments[name]) for name in order))
    agent, _ = planner(batch, calls("run"), "done", options=preset("cinch"), offered=offered)

    await agent.prompt("go")

    assert len(run.ran) == 1
    assert [each.is_error for each in results_of(agent)] == [order[0] == "run", order[0] != "run", False]


async def test_plan_execute_executes_a_submitted_plan_without_a_review() -> None:
    _, run, offered = tools()
    agent, seen = planner(calls("run"), PLANNED, calls("run"), "done", options=preset("cinch"), offered=offered)

    result = await agent.prompt("go")

    assert "plan mode" in results_of(agent)[0].text.lower()
    assert (len(run.ran), result.text, agent.state.mode) == (1, "done", EXECUTE)
    assert [event.plan for event in seen if isinstance(event, PlanSubmitted)] == ["1. Do it."]


async def test_plan_execute_without_the_plan_tool_starts_with_execution() -> None:
    run = SimpleTool("run", risk="execute")
    agent, _ = planner(calls("run"), "done", options=preset("cinch"), offered=[run])

    await agent.prompt("go")

    assert len(run.ran) == 1


async def test_planning_turns_do_not_count_towards_the_run_limit() -> None:
    look, run, offered = tools()
    options = replace(preset("cinch"), limits=Limits(max_turns=2))
    agent, _ = planner(*LOOK[:5], PLANNED, calls("run"), calls("run"), "done", options=options, offered=offered)

    result = await agent.prompt("go")

    assert (len(look.ran), len(run.ran), result.limit) == (5, 2, "turns")


async def test_unreviewable_plan_ends_the_run_as_its_answer() -> None:
    _, run, offered = tools()
    agent, _ = planner(PLANNED, PLANNED, options=AgentOptions(mode=PLAN), offered=offered)

    result = await agent.prompt("go")

    assert (result.stop_reason, result.limit, run.ran) == ("stop", "", [])
    assert [each.text for each in results_of(agent)] == [UNASKED]
    assert agent.state.mode is PLAN


@pytest.mark.parametrize("max_turns", [0, 40])
async def test_planning_without_its_own_limit_uses_the_run_limit(max_turns: int) -> None:
    look, _, offered = tools()
    options = AgentOptions(mode=PLAN, planning=Planning(max_turns=max_turns), limits=Limits(max_turns=30))
    agent, _ = planner(*LOOK, options=options, offered=offered)

    await agent.prompt("go")

    assert len(look.ran) == (40 if max_turns else 30)


async def test_subagent_neither_ends_nor_extends_the_phase_of_its_caller() -> None:
    look, _, offered = tools()
    model = cast({"go": [delegates("dig"), "a plan in prose"], "dig": [*LOOK[:12], "found"]})
    agent = Agent(model, [*offered, DelegateTool()], options=preset("cinch"))

    await agent.prompt("go")

    assert (len(look.ran), agent.state.mode) == (12, PLAN)
