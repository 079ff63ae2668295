"""Modes: reminders in the conversation, and refused calls; system prompt and tool list stay the same."""

from __future__ import annotations

from itertools import product

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of, texts_of
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.agent.reminders import PLAN_MODE_OFF, WITHOUT_SUBMITTING, mode_reminder
from harness.approval.modes import EXECUTE, PLAN
from harness.approval.store import RuleStore
from harness.messages import JsonObject
from harness.permissions import Rule
from harness.ports.hooks import AllowCall, CallVerdict, Hooks, Modify
from harness.ports.tool import ToolContext, ToolOutput
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply, scripted
from tools import builtin_tools
from tools.delegate import DelegateTool

PLAN_MODE_ON = mode_reminder(PLAN, ["submit_plan"])
CHANGES: dict[str, JsonObject] = {
    "write_file": {"path": "a.txt", "content": "x"},
    "edit_file": {"path": "b.txt", "edits": [{"old_string": "old", "new_string": "new"}]},
    "bash": {"command": "touch a.txt"},
    "job_kill": {"job_id": "job-1"},
    "job_input": {"job_id": "job-1", "text": "x"},
    "notebook_edit": {"path": "b.txt", "cell_id": 1, "new_source": "x"},
    "move_file": {"source": "b.txt", "destination": "c.txt"},
    "copy_file": {"source": "b.txt", "destination": "c.txt"},
    "delete_file": {"path": "b.txt"},
    "git_branch": {"create": "x"},
    "git_commit": {"message": "x", "paths": ["b.txt"]},
    "git_checkout": {"target": "x"},
}
"""A call of each built-in tool that changes something."""


class AllowAll(Hooks):
    """Hook that allows every call."""

    async def before_tool(self, call: object) -> CallVerdict:
        return AllowCall("trusted")


class TurnIntoWrite(Hooks):
    """Hook that changes a reading command into a writing one."""

    async def before_tool(self, call: object) -> CallVerdict:
        return Modify({"command": "touch a.txt"})


def agent_with_rules(tmp_path, user, *script: Reply | str, hooks: tuple[Hooks, ...] = (), approval="off") -> Agent:
    """Return an agent in plan mode whose rules allow every tool that changes something."""
    rules = RuleStore(rules=[Rule(name) for name in CHANGES])
    options = AgentOptions(
        workspace=Workspace(tmp_path), user=user, mode=PLAN, approval=approval, grants=rules, hooks=hooks
    )
    return Agent(scripted(*script), builtin_tools(), options=options)


@pytest.mark.parametrize(("name", "approval"), product(CHANGES, ["off", "on"]))
async def test_no_tool_changes_anything_in_plan_mode(name, approval, tmp_path, user) -> None:
    (tmp_path / "b.txt").write_text("old")
    script = [Reply((Call(name, CHANGES[name]),)), "done"]
    agent = agent_with_rules(tmp_path, user, *script, hooks=(AllowAll(),), approval=approval)

    await agent.prompt("go")

    assert "not available in plan mode" in results_of(agent)[0].text
    assert user.asked == []
    assert [each.name for each in tmp_path.iterdir()] == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "old"


def test_every_mutating_built_in_tool_is_among_those_tried() -> None:
    assert {tool.name for tool in builtin_tools() if tool.mutates} == set(CHANGES)


async def test_call_that_a_hook_changes_into_a_writing_one_is_refused_in_plan_mode(tmp_path, user) -> None:
    script = [Reply((Call("bash", {"command": "ls"}),)), "done"]
    agent = agent_with_rules(tmp_path, user, *script, hooks=(TurnIntoWrite(),))

    await agent.prompt("go")

    assert "not available in plan mode" in results_of(agent)[0].text
    assert list(tmp_path.iterdir()) == []


async def test_parallel_calls_in_plan_mode_run_only_as_far_as_they_read(make_agent, user) -> None:
    look, write = SimpleTool("look"), SimpleTool("write", risk="edit")
    agent = make_agent(calls("write", "look", "write"), "done", tools=[look, write], mode=PLAN, approval="off")

    await agent.prompt("go")

    assert (len(look.ran), write.ran, user.asked) == (1, [], [])
    assert [each.is_error for each in results_of(agent)] == [True, False, True]


async def test_plan_tool_is_refused_outside_plan_mode(make_agent, requests) -> None:
    submit = SimpleTool("submit_plan", risk="none")
    agent = make_agent(calls("submit_plan"), "done", tools=[submit])

    await agent.prompt("go")

    assert [tool.name for tool in requests(agent)[0].tools] == ["submit_plan"]
    assert submit.ran == []
    assert results_of(agent)[0].text.startswith("submit_plan is only available in plan mode")


async def test_mode_changes_neither_system_prompt_nor_tools_and_are_announced_once(make_agent, requests) -> None:
    agent = make_agent(*["reply"] * 4, tools=[SimpleTool("write", risk="edit"), SimpleTool("submit_plan", risk="none")])

    await agent.prompt("one")
    agent.set_mode(PLAN)
    await agent.prompt("two")
    await agent.prompt("three")
    agent.set_mode(EXECUTE)
    await agent.prompt("four")

    assert texts_of(agent) == ["one", "two", PLAN_MODE_ON, "three", "four", PLAN_MODE_OFF]
    assert len({(each.system, str(each.tools)) for each in requests(agent)}) == 1


async def test_mode_that_is_switched_back_before_the_next_request_is_not_announced(make_agent) -> None:
    agent = make_agent("reply")

    agent.set_mode(PLAN)
    agent.set_mode(EXECUTE)
    await agent.prompt("go")

    assert texts_of(agent) == ["go"]


async def test_switch_during_a_run_is_announced_in_the_next_turn(make_agent) -> None:
    async def switch(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        agent.set_mode(PLAN)
        return ToolOutput.text("switched")

    agent = make_agent(calls("switch"), "done", tools=[SimpleTool("switch", switch)])

    await agent.prompt("go")

    assert texts_of(agent) == ["go", mode_reminder(PLAN, [])]


async def test_restored_conversation_is_reminded_of_a_mode_that_it_does_not_announce(make_agent) -> None:
    agent = make_agent("one", "two", "three", tools=[SimpleTool("submit_plan", risk="none")], mode=PLAN)
    await agent.prompt("first")
    planned = agent.messages

    agent.replace_messages(planned)
    await agent.prompt("second")
    agent.replace_messages(())
    await agent.prompt("third")

    assert texts_of(agent) == ["third", PLAN_MODE_ON]
    assert [each.text for each in planned if each.text.startswith("[")] == [PLAN_MODE_ON]


async def test_subagent_learns_of_plan_mode_without_the_plan_tool() -> None:
    model = cast({"go": [delegates("dig"), "done"], "dig": ["found"]})
    agent = Agent(model, [DelegateTool(), SimpleTool("submit_plan")], options=AgentOptions(mode=PLAN))

    await agent.prompt("go")

    (request,) = [each for each in model.provider.requests if each.messages[0].text == "dig"]
    assert request.messages[-1].text == mode_reminder(PLAN, [])
    assert request.messages[-1].text.endswith(WITHOUT_SUBMITTING)
