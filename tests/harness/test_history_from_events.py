"""Message events of a run are complete, so that observers can rebuild the history (PRD 8)."""

from __future__ import annotations

import asyncio

from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.events import MessageEnd, MessageStart, ToolExecutionEnd, TurnEnd
from harness.messages import CustomMessage, ToolResult
from harness.messages import user as user_message
from harness.parallel.run import run_parallel
from harness.parallel.selection import PickFirst
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Block, Hooks
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.user_requests import Denied
from providers.demo import Reply, Say, scripted


def rebuilt(seen):
    return tuple(event.message for event in seen.of(MessageEnd))


async def test_tool_results_start_and_end_as_messages_in_call_order_within_their_turn(make_agent, record):
    agent = make_agent(calls("slow", "quick"), "done", tools=[sleeper("slow", 0.02), SimpleTool("quick")])
    seen = record(agent)

    await agent.prompt("go")

    results = [each for each in agent.history if isinstance(each, ToolResult)]
    starts = [event for event in seen.of(MessageStart) if event.role == "tool_result"]
    ends = [event for event in seen.of(MessageEnd) if isinstance(event.message, ToolResult)]
    assert [event.message_id for event in starts] == [result.id for result in results]
    assert [event.message for event in ends] == results
    assert [result.tool_name for result in results] == ["slow", "quick"]
    assert seen.of(ToolExecutionEnd)[-1].seq < starts[0].seq
    assert ends[-1].seq < seen.of(TurnEnd)[0].seq
    assert {event.turn for event in ends} == {1}


async def test_history_is_rebuilt_from_events_of_runs_with_tools_steering_denial_block_and_abort(
    make_agent, record, user
):
    class NoLook(Hooks):
        async def before_tool(self, call):
            return Block("not here") if call.name == "blocked" else None

    tools = [SimpleTool("look"), sleeper("slow", 30), SimpleTool("write", risk="edit"), SimpleTool("blocked")]
    script = [calls("look", "write", "blocked", "unknown"), calls("slow", "look"), calls("slow"), "after"]
    agent = make_agent(*script, tools=tools, hooks=[NoLook()])
    user.approvals.append(Denied("no"))
    seen = record(agent)

    run = asyncio.create_task(agent.prompt([CustomMessage("mark", {"at": 1}), user_message("go")]))
    await until(lambda: tools[1].ran)
    agent.steer("stop, explain first")
    agent.interrupt()
    await until(lambda: len(tools[1].ran) == 2)
    agent.abort()
    result = await run
    await agent.prompt("and now?")

    assert result.stop_reason == "aborted"
    assert rebuilt(seen) == agent.history.messages
    assert sum(isinstance(message, ToolResult) for message in rebuilt(seen)) == 7


async def test_history_is_rebuilt_from_the_agents_own_events_after_parallel_runs(make_agent, record):
    agent = make_agent("never asked", tools=[SimpleTool("look")])
    seen = record(agent)
    await run_parallel(agent, "hi", [ParallelVariant(scripted(calls("look", "look"), "seen"))], PickFirst())

    assert rebuilt(seen) == agent.history.messages
    assert sum(isinstance(message, ToolResult) for message in rebuilt(seen)) == 2


async def test_session_file_has_each_tool_result_once(make_agent, tmp_path):
    agent = make_agent(calls("look", "look"), "done", tools=[SimpleTool("look")])
    store = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(store.store)

    await agent.prompt("go")
    store.close()

    loaded = load_session(store.path)
    assert [message.id for message in loaded.messages] == [message.id for message in agent.history]


async def test_session_file_has_tool_results_that_were_part_of_a_prompt(make_agent, tmp_path):
    first = make_agent(calls("look"), "done", tools=[SimpleTool("look")])
    await first.prompt("go")
    agent = make_agent(Reply((Say("resumed"),)))
    store = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(store.store)

    await agent.prompt([*first.history.messages, user_message("go on")])
    store.close()

    loaded = load_session(store.path)
    assert [message.id for message in loaded.messages] == [message.id for message in agent.history]
    assert any(isinstance(message, ToolResult) for message in loaded.messages)
