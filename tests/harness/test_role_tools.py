from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from fakes.family import cast
from fakes.people import ScriptedUser
from fakes.runs import calls
from fakes.simple_tools import SimpleTool

from harness.agent.agent import Agent
from harness.agent.options import Subagents
from harness.agent.subagents.agent_tool import SubagentTool
from harness.ports.provider import Request
from harness.ports.tool import Role
from providers.demo import Call, Reply


def asks(name: str, task: str) -> Reply:
    return Reply((Call(name, {"task": task}),))


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        (Role(allowed_tools=("look", "unknown")), ("look",)),
        (Role(allowed_tools=("mcp__*",)), ("mcp__git__log",)),
        (Role(allowed_tools=()), ()),
        (Role(denied_tools=("run", "mcp__*")), ("look",)),
        (Role(is_read_only=True), ("look", "mcp__git__log")),
        (Role(allowed_tools=("run", "look"), is_read_only=True), ("look",)),
    ],
)
async def test_role_has_only_the_selected_tools_of_its_caller(
    make_agent: Callable[..., Agent],
    requests: Callable[[Agent], Sequence[Request]],
    role: Role,
    offered: tuple[str, ...],
):
    worker = SubagentTool("worker", "Works.", role)
    tools = [worker, SimpleTool("look"), SimpleTool("run", risk="execute")]
    model = cast({"go": [asks("worker", "dig"), "ok"], "dig": ["done"]})
    agent = make_agent(model=model, tools=tools, subagents=Subagents(max_depth=1))
    agent.set_source_tools("git", [SimpleTool("mcp__git__log")])

    await agent.prompt("go")

    assert tuple(tool.name for tool in requests(agent)[1].tools) == offered


async def test_role_cannot_give_its_own_subagents_what_it_lacks(make_agent: Callable[..., Agent]):
    run = SimpleTool("run", risk="execute")
    reader = SubagentTool("reader", "Reads.", Role(denied_tools=("run",)))
    runner = SubagentTool("runner", "Runs.", Role(allowed_tools=("run",)))
    model = cast({"go": [asks("reader", "read"), "ok"], "read": [asks("runner", "r"), "ok"], "r": [calls("run"), "ok"]})
    agent = make_agent(model=model, tools=[reader, runner, run], approval="off")

    await agent.prompt("go")

    assert run.ran == []


async def test_role_that_does_not_ask_is_denied_what_needs_approval(
    make_agent: Callable[..., Agent], user: ScriptedUser
):
    run, look = SimpleTool("run", risk="execute"), SimpleTool("look")
    worker = SubagentTool("worker", "Works.", Role(asks=False))
    model = cast({"go": [asks("worker", "dig"), "ok"], "dig": [calls("run"), calls("look"), "done"]})
    agent = make_agent(model=model, tools=[worker, run, look])

    await agent.prompt("go")

    assert (run.ran, len(look.ran), user.asked) == ([], 1, [])
