from __future__ import annotations

import asyncio

import pytest
from fakes.family import cast, delegates, inside, outline
from fakes.runs import calls, results_of, steer_now, until
from fakes.simple_tools import SimpleTool

from harness.agent.options import Subagents
from harness.codec import decode, encode
from harness.errors import RequestRejected
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    MessageUpdate,
    RequestStart,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionUpdate,
    TurnStart,
)
from harness.execution.context import Execution
from harness.messages import JsonObject, Text
from harness.ports.tool import ToolContext, ToolOutput
from harness.tracing.recorder import TraceRecorder
from harness.views import TextView
from providers.demo import Break, Hang, Reply, Say
from tools.delegate import DelegateTool

BEGIN = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd"]
REPLY = ["RequestStart", "MessageStart", "MessageEnd", "UsageUpdate"]
CALL = ["ToolExecutionStart", "ToolExecutionEnd"]
RESULT = ["MessageStart", "MessageEnd"]


def below(names: list[str]) -> list[str]:
    return [f">{name}" for name in names]


async def test_subagent_completes_its_task_and_returns_its_final_reply(make_agent, record):
    look = SimpleTool("look")
    model = cast({"go": [delegates("dig"), "Thanks."], "dig": [calls("look"), "Found it."]})
    agent = make_agent(model=model, tools=[DelegateTool(), look])
    seen = record(agent)

    result = await agent.prompt("go")

    progress = "ToolExecutionUpdate"
    child = [
        *[
            ">AgentStart",
            progress,
            *below([*BEGIN[1:], *REPLY, "ToolCallsReceived"]),
            ">ToolExecutionStart",
            progress,
            ">ToolExecutionEnd",
        ],
        *below([*RESULT, "TurnEnd", "TurnStart", *REPLY, "TurnEnd", "AgentEnd"]),
    ]
    assert outline(seen.events) == [
        *[*BEGIN, *REPLY, "ToolCallsReceived", "ToolExecutionStart", *child, "ToolExecutionEnd", *RESULT, "TurnEnd"],
        *["TurnStart", *REPLY, "TurnEnd", "AgentEnd"],
    ]
    assert [each.text for each in results_of(agent)] == ["Found it."]
    assert result.text == "Thanks."
    assert len(look.ran) == 1


async def test_subagent_has_its_own_ids_linked_to_its_parent(make_agent, record):
    agent = make_agent(model=cast({"go": [delegates("dig"), "ok"], "dig": ["done"]}), tools=[DelegateTool()])
    seen, recorder = record(agent), TraceRecorder()
    agent.subscribe(recorder.on_event)

    await agent.prompt("go")

    start = inside(seen.events, AgentStart)[0]
    assert start.run_id == f"{start.session_id}.sub.1"
    assert start.session_id != agent.session_id
    assert start.agent_id != agent.agent_id
    assert start.parent_run_id == seen.events[0].run_id
    assert [each.trigger for each in inside(seen.events, TurnStart)] == ["subagent"]
    assert [each.child_run_id for each in seen.of(ToolExecutionEnd)] == [start.run_id]
    child = recorder.get_session(start.session_id)
    assert child is not None
    assert child.runs[0].parent_run_id == seen.events[0].run_id


async def test_subagent_sees_its_task_only(make_agent, requests):
    agent = make_agent(model=cast({"go": ["hello", delegates("dig"), "ok"], "dig": ["done"]}), tools=[DelegateTool()])
    await agent.prompt("go")

    await agent.prompt("again")

    request = requests(agent)[2]
    assert [message.text for message in request.messages] == ["dig"]
    assert request.system.startswith("You help.\n\n# You are a subagent")
    assert request.session_id != agent.session_id


async def test_subagent_uses_the_current_model_of_its_parent(make_agent, requests):
    agent = make_agent(model=cast({"go": [delegates("dig"), "ok"], "dig": ["done"]}), tools=[DelegateTool()])
    agent.state.max_tokens = 77

    await agent.prompt("go")

    assert [request.max_tokens for request in requests(agent)] == [77, 77, 77]


async def test_long_results_of_a_subagent_are_stored_separately(make_agent, record, tmp_path):
    async def tell(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput.text("long\n" * 100)

    model = cast({"go": [delegates("dig"), "ok"], "dig": [calls("tell"), "done"]})
    tools = [DelegateTool(), SimpleTool("tell", tell)]
    agent = make_agent(model=model, tools=tools, execution=Execution(max_result_chars=200))
    seen = record(agent)

    await agent.prompt("go")

    session_id = inside(seen.events, AgentStart)[0].session_id
    assert [path.parent for path in (tmp_path / "spill").rglob("*.txt")] == [tmp_path / "spill" / session_id]


async def test_subagents_of_one_reply_work_concurrently_and_answer_in_order(make_agent, record):
    there = asyncio.Barrier(2)

    async def meet(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        await there.wait()
        return ToolOutput.text("met")

    parts = {"go": [delegates("one", "two"), "ok"], "one": [calls("meet"), "first"], "two": [calls("meet"), "second"]}
    agent = make_agent(model=cast(parts), tools=[DelegateTool(), SimpleTool("meet", meet)])
    seen = record(agent)

    await agent.prompt("go")

    nested = [event for event in seen.events if isinstance(event, SubagentEvent)]
    by_call = {
        event.call_id: outline(each.event for each in nested if each.call_id == event.call_id) for event in nested
    }
    course = [
        *BEGIN,
        *REPLY,
        "ToolCallsReceived",
        *CALL,
        *RESULT,
        "TurnEnd",
        "TurnStart",
        *REPLY,
        "TurnEnd",
        "AgentEnd",
    ]
    assert list(by_call.values()) == [course, course]
    begun = [name for name in outline(seen.events) if name in (">AgentStart", ">AgentEnd")]
    assert begun == [">AgentStart", ">AgentStart", ">AgentEnd", ">AgentEnd"]
    assert [each.text for each in results_of(agent)] == ["first", "second"]


async def test_excess_subagents_wait_for_a_concurrency_slot(make_agent):
    at_work: list[int] = []
    present = 0

    async def work(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        nonlocal present
        present += 1
        at_work.append(present)
        await asyncio.sleep(0.01)
        present -= 1
        return ToolOutput.text("worked")

    names = ["a", "b", "c", "d", "e"]
    parts = {name: [calls("work"), f"{name} is done"] for name in names}
    model = cast({"go": [delegates(*names), "ok"], **parts})
    tools = [DelegateTool(), SimpleTool("work", work)]
    agent = make_agent(model=model, tools=tools, subagents=Subagents(max_concurrent=2))

    await agent.prompt("go")

    assert max(at_work) == 2
    assert [each.text for each in results_of(agent)] == [f"{name} is done" for name in names]


async def test_subagents_nest_up_to_the_depth_limit(make_agent, record, requests):
    parts = {
        "go": [delegates("mid"), "ok"],
        "mid": [delegates("leaf"), "mid done"],
        "leaf": [delegates("x"), "leaf done"],
    }
    agent = make_agent(model=cast(parts), tools=[DelegateTool()], subagents=Subagents(max_concurrent=1))
    seen = record(agent)

    await agent.prompt("go")

    assert [len(request.tools) for request in requests(agent)] == [1, 1, 0, 0, 1, 1]
    leaf = [event.event.event for event in seen.events if isinstance(event, SubagentEvent) and _is_nested(event)]
    assert outline(leaf) == [
        *BEGIN,
        *REPLY,
        "ToolCallsReceived",
        *CALL,
        *RESULT,
        "TurnEnd",
        "TurnStart",
        *REPLY,
        "TurnEnd",
        "AgentEnd",
    ]
    assert "unknown tool" in inside(seen.events, ToolExecutionEnd, depth=2)[0].result.text
    assert inside(seen.events, AgentStart, depth=2)[0].parent_run_id == inside(seen.events, AgentStart)[0].run_id
    assert [each.text for each in results_of(agent)] == ["mid done"]


def _is_nested(event: SubagentEvent) -> bool:
    return isinstance(event.event, SubagentEvent)


async def test_tool_reports_when_no_subagent_is_allowed(make_agent):
    agent = make_agent(delegates("dig"), "ok", tools=[DelegateTool()], subagents=Subagents(max_depth=0))

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert result.is_error
    assert "No further subagents" in result.text


async def test_subagent_has_the_named_tools(make_agent, requests):
    parts = {"go": [delegates("dig", tools=["look"]), delegates("dig", tools=["axe"]), "ok"], "dig": ["done"]}
    agent = make_agent(model=cast(parts), tools=[DelegateTool(), SimpleTool("look"), SimpleTool("hear")])

    await agent.prompt("go")

    assert [tool.name for tool in requests(agent)[1].tools] == ["look"]
    assert [(each.is_error, each.text) for each in results_of(agent)] == [
        (False, "done"),
        (True, "A subagent cannot have axe: name some of delegate_subagent, look, hear, or none for all of them."),
    ]


async def test_abort_stops_every_generation_and_leaves_no_task(make_agent, record):
    parts = {
        "go": [delegates("mid", "other")],
        "mid": [delegates("leaf")],
        "leaf": [Reply((Hang(),))],
        "other": [Reply((Hang(),))],
    }
    agent = make_agent(model=cast(parts), tools=[DelegateTool()])
    seen = record(agent)
    before = asyncio.all_tasks()
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: inside(seen.events, RequestStart, depth=2) and len(inside(seen.events, RequestStart)) == 2)

    agent.abort()
    result = await run

    assert asyncio.all_tasks() == before
    assert result.stop_reason == "aborted"
    ends = [name for name in outline(seen.events) if name.endswith(("AgentEnd", "ToolExecutionEnd"))]
    assert sorted(ends) == [
        *[">>AgentEnd", ">AgentEnd", ">AgentEnd", ">ToolExecutionEnd"],
        *["AgentEnd", "ToolExecutionEnd", "ToolExecutionEnd"],
    ]
    assert ends.index(">>AgentEnd") < ends.index(">ToolExecutionEnd") < len(ends) - 3
    assert ends[-2:] == ["ToolExecutionEnd", "AgentEnd"]
    assert [each.stop_reason for each in inside(seen.events, AgentEnd)] == ["aborted", "aborted"]


async def test_steering_interrupts_a_subagent(make_agent, record):
    parts = {"go": [delegates("dig"), "I stopped it."], "dig": [Reply((Hang(),))]}
    agent = make_agent(model=cast(parts), tools=[DelegateTool()])
    seen = record(agent)
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: inside(seen.events, RequestStart))

    steer_now(agent, "stop that")
    result = await run

    names = outline(seen.events)
    assert names[names.index(">AgentEnd") :] == [
        *[">AgentEnd", "ToolExecutionEnd", *RESULT, "TurnEnd", "TurnStart", "MessageStart", "MessageEnd"],
        *[*REPLY, "TurnEnd", "AgentEnd"],
    ]
    assert results_of(agent)[0].text.startswith(
        "Subagent dig was stopped before its first message.\n[interrupted after"
    )
    assert result.text == "I stopped it."


async def test_user_sees_the_progress_of_a_subagent(make_agent, record):
    parts = {"go": [delegates("dig"), "ok"], "dig": [calls("look", path="a.py"), calls("look", path="b.py"), "done"]}
    agent = make_agent(model=cast(parts), tools=[DelegateTool(), SimpleTool("look")])
    seen = record(agent)

    await agent.prompt("go")

    steps = ["started", "turn 1: Look a.py", "turn 2: Look b.py"]
    views = [event.view for event in seen.of(ToolExecutionUpdate)]
    assert views == [TextView("\n".join(steps[:count])) for count in (1, 2, 3)]


async def test_user_sees_when_an_agent_waits_for_others(make_agent, record):
    parts = {"go": [delegates("a", "b"), "ok"], "a": ["done"], "b": [calls("run"), "done"]}
    tools = [DelegateTool(), SimpleTool("run", risk="execute")]
    agent = make_agent(model=cast(parts), tools=tools, subagents=Subagents(max_concurrent=1))
    seen = record(agent)

    await agent.prompt("go")

    last = results_of(agent)[-1].call_id
    steps = [event.view.text.split("\n")[-1] for event in seen.of(ToolExecutionUpdate) if event.call_id == last]
    assert steps == ["waiting for other subagents", "started", "turn 1: run needs approval", "turn 1: Run"]


@pytest.mark.parametrize("deltas", [False, True])
async def test_streamed_text_of_a_subagent_is_published_on_request_only(make_agent, record, deltas):
    agent = make_agent(
        model=cast({"go": [delegates("dig"), "ok"], "dig": ["done"]}),
        tools=[DelegateTool()],
        subagents=Subagents(deltas=deltas),
    )
    seen = record(agent)

    await agent.prompt("go")

    assert bool(inside(seen.events, MessageUpdate)) is deltas


async def test_subagent_events_round_trip_through_json(make_agent, record):
    agent = make_agent(model=cast({"go": [delegates("dig"), "ok"], "dig": ["done"]}), tools=[DelegateTool()])
    seen = record(agent)

    await agent.prompt("go")

    assert [decode(Event, encode(event)) for event in seen.events] == seen.events


async def test_long_final_reply_is_truncated_in_the_middle(make_agent, record):
    lines = "\n".join(f"line {number}" for number in range(1000))
    agent = make_agent(model=cast({"go": [delegates("dig"), "ok"], "dig": [lines]}), tools=[DelegateTool()])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert len(result.text) < 4_100
    assert result.text.startswith("line 0\n")
    assert result.text.endswith("line 999")
    missing = int(result.text.partition("[clipped: ")[2].partition(" of")[0].replace(",", ""))
    kept = "".join(line for line in result.text.splitlines(keepends=True) if not line.startswith("[clipped"))
    assert f"of {len(lines):,} characters" in result.text
    assert abs(len(lines) - missing - len(kept)) <= 1
    assert result.view == TextView(lines, language="markdown")


@pytest.mark.parametrize(
    ("last", "is_error", "text"),
    [
        ([""] * 4, False, "Subagent dig has finished without a message."),
        ([Reply((Break(RequestRejected("no credit")),))], True, "Subagent dig did not finish: no credit"),
        (
            [Reply((Say("Half"),), stop_reason="length")],
            True,
            "Subagent dig did not finish: its last reply reached the model's limit of tokens\n"
            "Its last message:\n\nHalf",
        ),
    ],
)
async def test_stop_reason_is_reported(make_agent, last, is_error, text):
    agent = make_agent(model=cast({"go": [delegates("dig"), "ok"], "dig": last}), tools=[DelegateTool()])

    await agent.prompt("go")

    (result,) = results_of(agent)
    assert (result.is_error, result.content) == (is_error, (Text(text),))
