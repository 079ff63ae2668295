from __future__ import annotations

import asyncio

import pytest
from fakes.family import cast, inside, outline
from fakes.runs import calls, results_of, until
from fakes.simple_tools import SimpleTool

from harness.agent.options import Subagents
from harness.agent.routing import Single
from harness.agent.subagents.agent_tool import SubagentTool
from harness.errors import InvalidArguments
from harness.events import AgentEnd, AgentStart, RequestStart, ToolApprovalRequested, ToolExecutionStart
from harness.messages import JsonObject
from harness.ports.provider import Model
from harness.ports.tool import Role, ToolContext, ToolOutput
from providers.demo import Call, DemoProvider, Reply, scripted
from tools.delegate import DelegateTool

BEGIN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]


def asks(name: str, task: str = "Which year?") -> Reply:
    return Reply((Call(name, {"task": task}),))


def requests_of(model: Model) -> list:
    assert isinstance(model.provider, DemoProvider)
    return model.provider.requests


async def test_role_has_its_own_model_instructions_and_tools(make_agent, record):
    model, look = scripted(calls("look"), "1889."), SimpleTool("look")
    researcher = SubagentTool("researcher", "Finds facts.", Role(model, "You research.", (look,)))
    agent = make_agent(asks("researcher"), "In 1889.", tools=[researcher, SimpleTool("other")])
    seen = record(agent)

    await agent.prompt("go")

    course = [name[1:] for name in outline(seen.events) if name.startswith(">")]
    execution = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd", "TurnEnd"]
    assert course == [*BEGIN, *REPLY, *execution, "TurnStart", *REPLY, "TurnEnd", "AgentEnd"]
    first = requests_of(model)[0]
    assert first.system.startswith("You research.\n\n# You are a subagent")
    assert [tool.name for tool in first.tools] == ["look"]
    assert len(look.ran) == 1
    assert [each.text for each in results_of(agent)] == ["1889."]
    assert inside(seen.events, AgentStart)[0].spec == model.spec


async def test_role_model_is_used_despite_parent_routing(make_agent):
    model, routed = scripted("1889."), scripted(asks("researcher"), "ok")
    researcher = SubagentTool("researcher", "Finds facts.", Role(model))
    agent = make_agent("never", tools=[researcher], routing=Single(routed))

    await agent.prompt("go")

    assert len(requests_of(model)) == 1
    assert len(requests_of(routed)) == 2


async def test_role_tools_require_the_same_approval(make_agent, record, user):
    user.deny()
    run = SimpleTool("run", risk="execute")
    worker = SubagentTool("worker", "Works.", Role(scripted(calls("run"), "No leave."), tools=(run,)))
    agent = make_agent(asks("worker"), "ok", tools=[worker])
    seen = record(agent)

    await agent.prompt("go")

    assert run.ran == []
    assert [request.label for request in user.asked] == ["Subagent worker: Run"]
    assert len(inside(seen.events, ToolApprovalRequested)) == 1


async def test_role_turn_limit_is_respected(make_agent):
    worker = SubagentTool("worker", "Works.", Role(scripted(calls("look"), "never")), max_turns=1)
    agent = make_agent(asks("worker"), "ok", tools=[worker, SimpleTool("look")])

    await agent.prompt("go")

    assert results_of(agent)[0].text == "Subagent worker did not finish: the limit of 1 turns is reached"


async def test_tool_is_hidden_where_delegation_is_not_allowed(make_agent, requests):
    worker = SubagentTool("worker", "Works.", Role(system_prompt="You work."))
    tools = [worker, DelegateTool(), SimpleTool("look")]
    model = cast({"go": [asks("worker", "dig"), "ok"], "dig": ["done"]})
    agent = make_agent(model=model, tools=tools, subagents=Subagents(max_depth=1))

    await agent.prompt("go")

    assert [tool.name for tool in requests(agent)[1].tools] == ["look"]


async def test_tool_without_any_delegation_explains_the_alternative(make_agent):
    worker = SubagentTool("worker", "Works.", Role())
    agent = make_agent(asks("worker"), "ok", tools=[worker], subagents=Subagents(max_depth=0))

    await agent.prompt("go")

    assert results_of(agent)[0].text == "No further subagents are allowed here. Do the task yourself."


@pytest.mark.parametrize("arguments", [{}, {"task": " "}, {"task": 1}, {"task": "x", "more": 1}])
def test_tool_takes_a_task_and_nothing_else(arguments: JsonObject):
    with pytest.raises(InvalidArguments, match="takes one argument"):
        SubagentTool("worker", "Works.", Role()).validate(arguments)


async def test_subagent_abandons_a_stuck_tool_before_its_parent_abandons_it(make_agent, record):
    released = asyncio.Event()

    async def stay(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return ToolOutput.text("too late")

    worker = SubagentTool("worker", "Works.", Role())
    model = cast({"go": [asks("worker", "dig")], "dig": [calls("stay")]})
    agent = make_agent(model=model, tools=[worker, SimpleTool("stay", stay)], cancel_grace_s=0.2)
    seen = record(agent)
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: inside(seen.events, RequestStart) and inside(seen.events, ToolExecutionStart))

    agent.abort()
    await run
    released.set()

    assert "[interrupted after" in results_of(agent)[0].text
    assert [each.stop_reason for each in inside(seen.events, AgentEnd)] == ["aborted"]
    assert outline(seen.events)[-6:] == [
        ">AgentEnd",
        "ToolExecutionEnd",
        "MessageStart",
        "MessageEnd",
        "TurnEnd",
        "AgentEnd",
    ]
