from __future__ import annotations

import asyncio

import pytest
from fakes.facts import SlowFacts
from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from fakes.talk import call, reply
from msgspec.structs import replace

from harness.agent.limits import Limits
from harness.agent.policies import Budget, DenyList, LoopDetection, MaxTurns, recommended
from harness.errors import ConfigError
from harness.events import HookRan, TurnEnd
from harness.execution.results import STEERED
from harness.messages import Cost, JsonObject, Text, ToolCall, ToolResult, Usage
from harness.ports.hooks import Block, Hooks, Inject, Stop
from harness.ports.provider import Price
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Call, Reply, Say, scripted
from tools.delegate import DelegateTool

TEN = Usage(6, 4, cost=Cost(0.5, 0.5))
LOOK = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
TOOL = ["ToolCallsReceived", "ToolExecutionStart", "ToolExecutionEnd", "MessageStart", "MessageEnd"]


def dear(*names: str) -> Reply:
    """Return a reply of ten tokens and one dollar that calls these tools."""
    return Reply((Say("hm"), *(Call(name, {}) for name in names)), usage=TEN)


def brief(names: list[str]) -> list[str]:
    return [name for name in names if name != "MessageUpdate"]


async def failing(arguments: JsonObject, context: ToolContext) -> ToolOutput:
    return ToolOutput.failure("no such thing")


async def test_exhausted_budget_stops_the_run_before_its_next_turn(make_agent, record):
    agent = make_agent(dear("look"), dear("look"), "never said", tools=[SimpleTool("look")], hooks=[Budget(2.0)])
    happened = record(agent)

    result = await agent.prompt("go")

    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *LOOK,
        *TOOL,
        "TurnEnd",
        "TurnStart",
        *LOOK,
        *TOOL,
        "TurnEnd",
        "HookRan",
        "AgentEnd",
    ]
    assert happened.of(HookRan) == [
        replace(happened.of(HookRan)[0], outcome="stopped", reason="the budget of $2 is spent ($2.0000)")
    ]
    assert result.stop_reason == "stop"
    assert result.stop_message == "the budget of $2 is spent ($2.0000)"
    assert len(results_of(agent)) == 2


async def test_token_budget_restarts_with_each_run(make_agent):
    look = SimpleTool("look")
    agent = make_agent(dear("look"), dear("look"), dear("look"), "done", tools=[look], hooks=[Budget(max_tokens=20)])

    first = await agent.prompt("go")
    second = await agent.prompt("go on")

    assert first.stop_message == "the budget of 20 tokens is spent (20)"
    assert second.text == "done"
    assert len(look.ran) == 3


async def test_unknown_cost_is_not_limited():
    budget = Budget(max_cost=0.01)

    await budget.after_model(replace(reply("hm"), usage=Usage(1_000_000, 1_000_000)))

    assert await budget.before_turn((), 2) is None


async def test_budget_waits_for_a_price_lookup(make_agent):
    spent = Reply((Call("look", {}),), usage=Usage(input=1))
    model = replace(scripted(spent, spent, "never said"), info=SlowFacts(Price(1_000_000.0, 0.0)))
    agent = make_agent(model=model, tools=[SimpleTool("look")], hooks=[Budget(max_cost=2.0)])

    result = await agent.prompt("go")

    assert result.stop_message == "the budget of $2 is spent ($2.0000)"


async def test_no_price_is_looked_up_without_need(make_agent):
    facts = SlowFacts(Price(1.0, 1.0))
    hooks = [MaxTurns(5), Budget(max_tokens=100)]
    agent = make_agent(model=replace(scripted("done"), info=facts), hooks=hooks, limits=Limits(max_cost=1.0))

    await agent.prompt("go")

    assert facts.now is None


async def test_run_takes_no_more_turns_than_the_policy_allows(make_agent, record):
    look = SimpleTool("look")
    agent = make_agent(calls("look"), calls("look"), calls("look"), tools=[look], hooks=[MaxTurns(2)])
    happened = record(agent)

    result = await agent.prompt("go")

    assert [name for name in happened.names if name in ("TurnStart", "TurnEnd", "HookRan", "AgentEnd")] == [
        "TurnStart",
        "TurnEnd",
        "TurnStart",
        "TurnEnd",
        "HookRan",
        "AgentEnd",
    ]
    assert result.stop_message == "the policy allows 2 turns"


async def test_denied_tool_is_hidden_and_blocked_with_a_reason(make_agent, record, requests):
    shell, look = SimpleTool("mcp__shell", risk="execute"), SimpleTool("look")
    agent = make_agent(calls("mcp__shell", "look"), "done", tools=[shell, look], hooks=[DenyList("mcp__*", "bash")])
    happened = record(agent)

    result = await agent.prompt("go")

    denied, looked = results_of(agent)
    assert result.text == "done"
    assert shell.ran == []
    assert denied.is_error
    assert denied.text.startswith("The tool mcp__shell is not allowed here")
    assert looked.text == "look ran"
    assert [(each.outcome, each.call_id) for each in happened.of(HookRan)] == [("blocked", denied.call_id)]
    assert [each.call.name for each in happened.events if type(each).__name__ == "ToolExecutionStart"] == ["look"]
    assert requests(agent)[1].messages[-2:] == (denied, looked)
    assert [[tool.name for tool in request.tools] for request in requests(agent)] == [["look"]] * 2


@pytest.mark.parametrize(
    ("name", "blocked"), [("bash", True), ("git_push", True), ("Bash", False), ("bash_history", False), ("git", False)]
)
async def test_patterns_match_whole_names_case_sensitively(name, blocked):
    verdict = await DenyList("bash", "git_*").before_tool(ToolCall("1", name, {}))

    assert isinstance(verdict, Block) is blocked


async def test_repeatedly_failing_call_is_blocked_and_then_ends_the_run(make_agent, record):
    find = SimpleTool("find", failing)
    agent = make_agent(*[calls("find", path="x")] * 9, tools=[find], hooks=[LoopDetection(lookback=5, times=3)])
    happened = record(agent)

    result = await agent.prompt("go")

    ran = [*LOOK, *TOOL, "TurnEnd"]
    blocked = [*LOOK, "ToolCallsReceived", "HookRan", "MessageStart", "MessageEnd", "TurnEnd"]
    assert brief(happened.names) == [
        "AgentStart",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *ran,
        "TurnStart",
        *ran,
        "TurnStart",
        *ran,
        "HookRan",
        "TurnStart",
        "MessageStart",
        "MessageEnd",
        *blocked,
        "TurnStart",
        *blocked,
        "HookRan",
        "AgentEnd",
    ]
    assert [each.outcome for each in happened.of(HookRan)] == ["injected", "blocked", "blocked", "stopped"]
    assert len(find.ran) == 3
    assert "Try something else" in results_of(agent)[3].text
    assert result.stop_message == "the same call of find failed repeatedly"


async def test_never_possible_call_ends_the_run(make_agent):
    agent = make_agent(*[calls("no_such_tool")] * 9, hooks=[LoopDetection(times=2)])

    result = await agent.prompt("go")

    assert result.stop_message == "the same call of no_such_tool failed repeatedly"
    assert len(results_of(agent)) == 4


def turn(*made: tuple[ToolCall, bool]) -> TurnEnd:
    """Run a turn with these calls and outcomes."""
    results = tuple(ToolResult(each.id, each.name, (Text("hm"),), is_error=failed) for each, failed in made)
    return TurnEnd(message=reply(*(each for each, _ in made)), results=results)


async def verdict(hook: Hooks, *made: tuple[str, bool]) -> str:
    """Play a turn with calls of these paths; return the outcome."""
    asked = [call(f"{number}{path}", path=path) for number, (path, _) in enumerate(made)]
    blocked = [await hook.before_tool(each) is not None for each in asked]
    fails = [failed or stopped for (_, failed), stopped in zip(made, blocked, strict=True)]
    stop = await hook.after_turn(turn(*zip(asked, fails, strict=True)))
    return "stopped" if isinstance(stop, Stop) else "blocked" if any(blocked) else "ran"


A, B, GOOD = ("a", True), ("b", True), ("a", False)


@pytest.mark.parametrize(
    ("turns", "comes_to"),
    [
        ([[A], [A], [A], [A], [A]], ["ran", "ran", "ran", "blocked", "stopped"]),
        ([[A], [B], [A], [B], [A], [B], [A], [B], [A]], ["ran"] * 6 + ["blocked", "blocked", "stopped"]),
        ([[A], [A], [GOOD], [A], [A], [GOOD]], ["ran"] * 6),
        ([[A], [A], [A], [A], [B], [B], [B], [B]], ["ran", "ran", "ran", "blocked", "ran", "ran", "ran", "blocked"]),
        ([[A] * 9, [B], [A]], ["ran", "ran", "blocked"]),
        ([[A, A, A, A, A, A, A], [A], [A]], ["ran", "blocked", "stopped"]),
    ],
)
async def test_repeated_failures_count_as_a_loop(turns, comes_to):
    hook = LoopDetection(lookback=10, times=3)

    assert [await verdict(hook, *each) for each in turns] == comes_to


async def test_failing_call_is_allowed_again_after_enough_other_calls():
    hook = LoopDetection(lookback=4, times=2)
    others = [[(str(number), False)] for number in range(4)]

    came_to = [await verdict(hook, *each) for each in [[A], [A], [A], *others, [A], [A], [A], [A]]]

    assert came_to == ["ran", "ran", "blocked", "ran", "ran", "ran", "ran", "ran", "ran", "blocked", "stopped"]


async def test_blocked_call_does_not_count():
    hook = LoopDetection(lookback=5, times=2)
    other = [("other", False)]

    came_to = [await verdict(hook, *each) for each in [[A], other, [A], [A], other, other, other, [A]]]

    assert came_to == ["ran", "ran", "ran", "blocked", "ran", "ran", "ran", "ran"]


async def test_call_skipped_by_steering_is_not_a_failure():
    hook = LoopDetection(times=1)
    skipped = call("1", path="a")
    end = turn((skipped, True))

    await hook.after_turn(replace(end, results=(replace(end.results[0], content=(Text(STEERED),)),)))

    assert await hook.before_tool(skipped) is None


async def test_other_arguments_are_another_call_regardless_of_key_order():
    hook = LoopDetection(times=1)
    await hook.after_turn(turn((call("1", path="x", mode="y"), True)))

    assert await hook.before_tool(call("2", path="z", mode="y")) is None
    assert isinstance(await hook.before_tool(call("3", mode="y", path="x")), Block)


async def test_new_run_resets_the_failure_counts():
    hook = LoopDetection(times=1)
    await verdict(hook, A)
    await verdict(hook, A)

    anew = hook.for_run()

    assert [await verdict(anew, A) for _ in range(3)] == ["ran", "blocked", "stopped"]
    assert await verdict(hook, A) == "stopped"


async def test_parallel_agents_can_share_a_policy(make_agent):
    hooks = [LoopDetection(times=2), Budget(max_tokens=30)]
    find = SimpleTool("find", failing)
    agents = [make_agent(dear("find"), dear("find"), dear(), tools=[find], hooks=hooks) for _ in range(3)]

    results = await asyncio.gather(*(agent.prompt("go") for agent in agents))

    assert [(each.error, len(each.messages)) for each in results] == [(None, 7)] * 3


async def warnings(hook: Hooks, *turns: tuple[str, bool]) -> list[bool]:
    """Play turns of one call each; return whether each one ended with a warning."""
    ends = [
        await hook.after_turn(turn((call(str(number), path=path), failed)))
        for number, (path, failed) in enumerate(turns)
    ]
    return [isinstance(each, Inject) for each in ends]


async def test_model_is_warned_once_before_a_failing_call_is_blocked():
    hook = LoopDetection(times=2)

    assert await warnings(hook, A, A, B, A) == [False, True, False, False]
    assert isinstance(await hook.before_tool(call("9", path="a")), Block)


async def test_model_is_warned_once_about_equal_results_and_never_blocked():
    hook = LoopDetection(lookback=6, repeats=3)

    assert await warnings(hook, *[GOOD] * 5) == [False, False, True, False, False]
    assert await hook.before_tool(call("9", path="a")) is None
    assert await warnings(hook, *[("b", False)] * 2, *[("c", False)] * 4, *[GOOD] * 3) == [
        *[False] * 4,
        True,
        *[False] * 3,
        True,
    ]


async def test_equal_results_can_be_ignored():
    assert await warnings(LoopDetection(repeats=0), *[GOOD] * 9) == [False] * 9


async def test_subagents_share_the_counts_of_their_agent(make_agent):
    find = SimpleTool("find", failing)
    tries = [calls("find", path="x"), "I found nothing."]
    roles = {"go": [delegates("one"), delegates("two"), delegates("three"), "ok"]}
    model = cast({**roles, "one": [*tries], "two": [*tries], "three": [*tries]})
    agent = make_agent(model=model, tools=[DelegateTool(), find], hooks=[LoopDetection(times=2)])

    await agent.prompt("go")

    assert len(find.ran) == 2


async def test_counts_of_subagents_end_with_the_run(make_agent):
    find = SimpleTool("find", failing)
    tries = [calls("find", path="x"), "I found nothing."]
    model = cast({"go": [delegates("one"), "ok", delegates("two"), "ok"], "one": [*tries], "two": [*tries]})
    agent = make_agent(model=model, tools=[DelegateTool(), find], hooks=[LoopDetection(times=1)])

    await agent.prompt("go")
    await agent.prompt("again")

    assert len(find.ran) == 2


@pytest.mark.parametrize(("lookback", "times"), [(3, 4), (3, 0), (0, 0)])
def test_threshold_that_can_never_trigger_is_rejected(lookback, times):
    with pytest.raises(ConfigError, match="times must be between"):
        LoopDetection(lookback=lookback, times=times)


async def test_recommended_policies_deny_the_shell_and_are_new_objects():
    policies, others = recommended(), recommended()

    verdicts = [await each.before_tool(ToolCall("1", "bash", {})) for each in policies]

    assert sum(isinstance(each, Block) for each in verdicts) == 1
    assert [type(each) for each in policies] == [Budget, MaxTurns, DenyList, LoopDetection]
    assert not {id(each) for each in policies} & {id(each) for each in others}
    assert await policies[1].before_turn((), 50) is None
    assert isinstance(await policies[1].before_turn((), 51), Stop)
