from __future__ import annotations

import asyncio

import pytest
from fakes.family import cast, delegates, heard, inside, one, said
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from harness.agent.limits import Limits
from harness.agent.options import Subagents
from harness.agent.policies import Budget, LoopDetection
from harness.agent.subagents.limits import InheritedHooks
from harness.context.policy import NO_STAGES
from harness.events import ContextTrimmed, LimitReached, RequestStart, UsageUpdate
from harness.messages import JsonObject
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Reply
from tools.delegate import DelegateTool

BEGIN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
CALL = ["ToolExecutionStart", "ToolExecutionEnd"]
RESULT = ["MessageStart", "MessageEnd"]


async def test_subagent_usage_counts_for_its_parent(make_agent, record):
    model = cast({"go": [delegates("dig"), said("ok", tokens=3)], "dig": [said("done", tokens=40)]})
    agent = make_agent(model=model, tools=[DelegateTool()])
    seen = record(agent)

    result = await agent.prompt("go")

    own = [event.usage.context for event in seen.of(UsageUpdate)]
    assert [event.total.context for event in inside(seen.events, UsageUpdate)] == [40]
    assert result.usage.context == sum(own) + 40
    assert seen.of(UsageUpdate)[-1].total.context == sum(own) + 40
    assert agent.state.usage.cost is not None
    assert agent.state.usage.cost.total == pytest.approx(sum(own) + 40)


@pytest.mark.parametrize(("limits", "limit"), [(Limits(max_tokens=500), "tokens"), (Limits(max_cost=500.0), "cost")])
async def test_parent_limit_stops_a_subagent(make_agent, record, limits, limit):
    first = Reply(calls("look").parts, usage=said("", tokens=600).usage)
    agent = make_agent(model=one(first, "done"), tools=[DelegateTool(), SimpleTool("look")], limits=limits)
    seen = record(agent)

    result = await agent.prompt("go")

    assert [each.limit for each in inside(seen.events, LimitReached)] == [limit]
    assert heard(seen.events) == [
        *[
            *BEGIN,
            *REPLY,
            "ToolCallsReceived",
            *CALL,
            *RESULT,
            "TurnEnd",
            "LimitReached",
            "MessageStart",
            "MessageEnd",
            "AgentEnd",
        ],
    ]
    assert result.limit == limit
    (reported,) = results_of(agent)
    assert reported.is_error
    assert reported.text.startswith("Subagent dig did not finish: the limit of")


async def test_subagent_out_of_turns_returns_its_partial_result(make_agent):
    look = Reply((*said("So far: a", tokens=1).parts, *calls("look").parts))
    tools = [DelegateTool(), SimpleTool("look")]
    agent = make_agent(model=one(look, calls("look"), "never"), tools=tools, subagents=Subagents(max_turns=2))

    await agent.prompt("go")

    (reported,) = results_of(agent)
    assert reported.is_error
    assert reported.text == (
        "Subagent dig did not finish: the limit of 2 turns is reached\nIts last message:\n\nSo far: a"
    )


async def test_exhausted_token_budget_stops_running_and_new_subagents(make_agent, record):
    first = Reply(calls("look").parts, usage=said("", tokens=600).usage)
    model = cast({"go": [delegates("dig"), delegates("more"), "ok"], "dig": [first, "never"], "more": ["never"]})
    tools = [DelegateTool(), SimpleTool("look")]
    agent = make_agent(model=model, tools=tools, subagents=Subagents(token_budget=500))
    seen = record(agent)

    await agent.prompt("go")

    assert [(each.is_error, each.text) for each in results_of(agent)] == [
        (True, "Subagent dig did not finish: The token budget of the subagents is spent."),
        (True, "The token budget of the subagents is spent. Do the task yourself."),
    ]
    assert heard(seen.events) == [*BEGIN, *REPLY, "ToolCallsReceived", *CALL, *RESULT, "TurnEnd", "HookRan", "AgentEnd"]


async def test_subagent_that_has_started_gets_one_turn_of_an_exhausted_budget(make_agent):
    replies = {"dig": [said("dug", tokens=90_000)], "more": [said("more done", tokens=1)]}
    agent = make_agent(
        model=cast({"go": [delegates("dig", "more"), "ok"], **replies}),
        tools=[DelegateTool()],
        subagents=Subagents(token_budget=50_000, max_concurrent=1),
    )

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["dug", "more done"]


async def test_every_generation_uses_the_same_budget(make_agent):
    look = Reply(calls("look").parts, usage=said("", tokens=300).usage)
    ask = Reply(delegates("leaf").parts, usage=said("", tokens=10).usage)
    leaf, mid = [look, said("leaf done", tokens=100)], [ask, said("mid done", tokens=10)]
    parts = {"go": [delegates("mid"), "ok"], "mid": mid, "leaf": leaf}
    tools = [DelegateTool(), SimpleTool("look")]
    agent = make_agent(model=cast(parts), tools=tools, subagents=Subagents(token_budget=600))

    await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["mid done"]


async def test_subagent_respects_the_limit_its_parent_learned_from_an_overflow(make_agent, record):
    async def long_output(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text("word " * 2_000)

    model = one(*[calls("look")] * 3, "done")
    agent = make_agent(model=model, tools=[DelegateTool(), SimpleTool("look", long_output)], window=NO_STAGES)
    agent.state.context.budget = 5_000
    seen = record(agent)

    await agent.prompt("go")

    assert inside(seen.events, ContextTrimmed)
    assert max(event.tokens for event in inside(seen.events, RequestStart)) <= 5_000


async def test_looping_subagent_is_stopped(make_agent):
    circles = [calls("nothing") for _ in range(9)]
    agent = make_agent(model=one(*circles), tools=[DelegateTool()], hooks=[LoopDetection(times=2)])

    await agent.prompt("go")

    assert "the same call of nothing failed repeatedly" in results_of(agent)[0].text


async def test_tokens_unused_by_one_subagent_are_available_to_another(make_agent):
    parts = {name: [said("done", tokens=10)] for name in "ab"}
    model = cast({"go": [delegates("a"), delegates("b"), "ok"], **parts})
    agent = make_agent(model=model, tools=[DelegateTool()], subagents=Subagents(token_budget=1000))

    async with asyncio.timeout(5):
        await agent.prompt("go")

    assert [each.text for each in results_of(agent)] == ["done", "done"]


async def test_budget_policy_counts_subagents(make_agent):
    first = Reply(calls("look").parts, usage=said("", tokens=600).usage)
    tools = [DelegateTool(), SimpleTool("look")]
    agent = make_agent(model=one(first, "never"), tools=tools, hooks=[Budget(max_tokens=500)])

    result = await agent.prompt("go")

    assert result.limit == "policy"
    assert results_of(agent)[0].text.startswith("Subagent dig did not finish: the budget of 500 tokens is spent")


def test_cost_counting_hook_covers_subagents():
    assert InheritedHooks(Budget(max_cost=1.0)).counts_cost
    assert not InheritedHooks(Budget(max_tokens=1)).counts_cost
