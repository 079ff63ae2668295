from __future__ import annotations

import asyncio

import pytest
from fakes.runs import deeds, results_of
from fakes.simple_tools import SimpleTool

from harness import tool
from harness.execution.context import Execution
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import ToolContext, ToolOutput
from providers.demo import Call, Reply
from tools import builtin_tools


def step(name: str, *, fails: bool = False) -> SimpleTool:
    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        for _ in range(10):
            await asyncio.sleep(0)
        return ToolOutput.failure("broken") if fails else ToolOutput.text(f"{name} ran with {arguments}")

    return SimpleTool(name, work, risk="none")


def after(name: str, depends_on: JsonValue = None) -> Call:
    return Call(name, {} if depends_on is None else {"depends_on": depends_on})


STEPS = [step("a"), step("b"), step("c"), step("broken", fails=True)]


@pytest.mark.parametrize("concurrency", ["parallel", "sequential", 2])
async def test_calls_begin_after_those_they_depend_on_and_answer_in_call_order(make_agent, record, concurrency):
    reply = Reply((after("a", [3]), after("b", "1"), after("c")))
    agent = make_agent(reply, "done", tools=STEPS, execution=Execution(concurrency))
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start c", "end c", "start a", "end a", "start b", "end b"]
    # The argument is not one of the tool.
    assert [each.text for each in results_of(agent)] == [f"{name} ran with {{}}" for name in "abc"]


@pytest.mark.parametrize(
    ("priorities", "calls", "starts"),
    [
        ({"b": 2, "c": 1}, [after("a"), after("c"), after("b")], "bca"),
        ({"b": 2}, [after("a"), after("b", [3]), after("c")], "cba"),
        ({"b": "no number"}, [after("a"), after("b"), after("c")], "abc"),
    ],
    ids=["highest first", "what another call waits for", "callback that raises"],
)
async def test_calls_of_a_higher_priority_end_before_others_begin(make_agent, record, priorities, calls, starts):
    execution = Execution(
        "sequential" if "no number" in priorities.values() else "parallel",
        priority=lambda call: int(priorities.get(call.name, 0)),
    )
    agent = make_agent(Reply(tuple(calls)), "done", tools=STEPS, execution=execution)
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == [f"{deed} {name}" for name in starts for deed in ("start", "end")]
    assert [each.tool_name for each in results_of(agent)] == [call.name for call in calls]


async def test_call_is_skipped_when_one_it_depends_on_fails_or_is_denied(make_agent):
    reply = Reply((after("broken"), after("a", 1), after("b", 2), after("denied"), after("c", [4])))
    denied = SimpleTool("denied", risk="forbidden")
    agent = make_agent(reply, "done", tools=[*STEPS, denied])

    await agent.prompt("go")

    texts = [each.text for each in results_of(agent)]
    assert texts[1] == "Skipped: the call of broken that it depends on failed."
    assert texts[2] == "Skipped: the call of a that it depends on failed."
    assert texts[4] == "Skipped: the call of denied that it depends on failed."


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (after("a", [2]), after("b", [1]), "depends_on makes calls wait for each other"),
        (after("a", [1]), after("b"), "depends_on makes calls wait for each other"),
        (after("a", "call_x"), after("b"), "depends_on names 'call_x', which is no call of this reply"),
        (after("a", [True]), after("b"), "depends_on names True, which is no call of this reply"),
        (after("a", {"id": 1}), after("b"), "depends_on names {'id': 1}, which is no call of this reply"),
    ],
    ids=["cycle", "itself", "unknown", "boolean", "object"],
)
async def test_invalid_dependency_is_explained_and_its_call_does_not_run(make_agent, first, second, problem):
    agent = make_agent(Reply((first, second)), "done", tools=STEPS)

    await agent.prompt("go")

    result = results_of(agent)[0]
    assert result.is_error
    assert problem in result.text


async def test_commands_that_declare_to_depend_on_nothing_run_at_the_same_time(make_agent, tmp_path):
    # Each command ends only when the other one has begun.
    meet = "touch {0}; for i in $(seq 200); do test -e {1} && exit; sleep 0.01; done; exit 1"
    commands = [meet.format("one", "two"), meet.format("two", "one")]
    calls = tuple(Call("bash", {"command": command, "depends_on": []}) for command in commands)
    agent = make_agent(Reply(calls), "done", tools=builtin_tools(), approval="off")

    await agent.prompt("go")

    assert [each.is_error for each in results_of(agent)] == [False, False]


@pytest.mark.parametrize("concurrency", ["parallel", "sequential"])
async def test_calls_without_dependencies_keep_their_place_among_the_others(make_agent, tmp_path, concurrency):
    lines = [{"command": "echo 1 >log"}, {"command": "sleep 0.05; echo 2 >>log", "depends_on": [1]}]
    reply = Reply(tuple(Call("bash", each) for each in [*lines, {"command": "echo 3 >>log"}]))
    execution = Execution(concurrency)
    agent = make_agent(reply, "done", tools=builtin_tools(), approval="off", execution=execution)

    await agent.prompt("go")

    assert (tmp_path / "log").read_text().split() == ["1", "2", "3"]


async def test_dependency_given_to_call_tool_counts(make_agent, record, monkeypatch):
    monkeypatch.setattr("harness.agent.tool_search.LEAST_TOKENS", 0)

    @tool(risk="none", deferred=True)
    async def first() -> str:
        """Comes first."""
        return "first ran"

    calls = (Call("call_tool", {"name": "first", "arguments": {}, "depends_on": [2]}), after("b"))
    agent = make_agent(Reply(calls), "done", tools=[*STEPS, first])
    happened = record(agent)

    await agent.prompt("go")

    assert deeds(happened.events) == ["start b", "end b", "start first", "end first"]


async def test_own_parameter_of_that_name_reaches_the_tool(make_agent):
    @tool(risk="none")
    def plan(depends_on: list[str]) -> str:
        """Plans."""
        return ", ".join(depends_on)

    agent = make_agent(Reply((Call("plan", {"depends_on": ["design", "tests"]}),)), "done", tools=[plan])

    await agent.prompt("go")

    assert results_of(agent)[0].text == "design, tests"
