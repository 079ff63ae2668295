"""State of an agent: readable, and changeable between runs (PRD 6, 10, 13.2)."""

from __future__ import annotations

import asyncio

import pytest
from fakes.runs import calls, until
from fakes.simple_tools import SimpleTool, sleeper

from harness.approval.modes import EXECUTE, PLAN
from harness.deltas import BlockDelta
from harness.errors import AlreadyRunning, ConfigError, RequestRejected
from harness.events import MessageUpdate, ModeChanged, ModelChanged
from harness.messages import AssistantMessage, CustomMessage, Text, ToolCall, ToolResult, user
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from providers.demo import Break, Call, Hang, Reply, Say, scripted


async def test_last_error_is_readable_after_a_failed_run_and_cleared_by_the_next(make_agent):
    agent = make_agent(Reply((Break(RequestRejected("no such model")),)), "here")
    assert agent.last_error is None

    await agent.prompt("go")
    assert agent.last_error == "no such model"

    await agent.prompt("again")
    assert agent.last_error is None


async def test_abort_is_not_an_error(make_agent):
    agent = make_agent(Reply((Say("so far"), Hang())))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.streaming_message)
    agent.abort()
    await run

    assert agent.last_error is None


async def test_message_in_progress_is_readable_while_streaming(make_agent, record):
    agent = make_agent(Reply((Say("so far"), Call("look", {"path": "a"}), Hang())), "again", tools=[SimpleTool("look")])
    seen = record(agent)
    assert agent.streaming_message is None

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: any(getattr(each.delta, "index", 0) == 1 for each in seen.of(MessageUpdate)))
    partial = agent.streaming_message
    shown = "".join(each.delta.text for each in seen.of(MessageUpdate) if isinstance(each.delta, BlockDelta))
    assert partial is not None
    assert partial.text == "so far"
    assert shown.startswith("so far")
    assert [call.name for call in partial.tool_calls] == ["look"]
    assert partial.id == seen.of(MessageUpdate)[0].message_id
    assert [type(each).__name__ for each in agent.messages] == ["UserMessage"]
    agent.abort()
    await run

    assert agent.streaming_message is None
    assert agent.messages[-1].text == "so far"


async def test_pending_tool_calls_are_the_running_ones(make_agent):
    tools = [sleeper("slow", 30), SimpleTool("quick")]
    agent = make_agent(calls("slow", "quick"), "done", tools=tools)
    assert agent.pending_tool_calls == frozenset()

    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: tools[0].ran and tools[1].ran and len(agent.pending_tool_calls) == 1)
    reply = next(each for each in agent.messages if isinstance(each, AssistantMessage))
    assert agent.pending_tool_calls == {reply.tool_calls[0].id}
    agent.abort()
    await run

    assert agent.pending_tool_calls == frozenset()


async def test_reset_restores_the_initial_state(make_agent, record):
    look, write = SimpleTool("look"), SimpleTool("write", risk="edit")
    given = (user("before"),)
    agent = make_agent(Reply((Break(RequestRejected("no")),)), "first", tools=[look], messages=given, max_tokens=100)
    model = agent.state.model
    session = agent.session_id
    await agent.prompt("go")
    agent.set_model(scripted("other"))
    agent.set_thinking("high")
    agent.set_mode(PLAN)
    agent.set_system_prompt("You sing.")
    agent.set_tools([write])
    agent.state.approval, agent.state.max_tokens = "off", 7
    agent.inbox.steering.mode = "all"
    agent.steer("stop")
    agent.follow_up("later")
    agent.add_reminder("mind")
    seen = record(agent)

    agent.reset()

    state = agent.state
    assert (state.model, state.system_prompt, tuple(state.tools)) == (model, "You help.", (look,))
    assert (state.mode, state.approval, state.max_tokens) == (EXECUTE, "smart", 100)
    assert (agent.messages, agent.has_pending, agent.last_error) == (given, False, None)
    assert (agent.inbox.steering.mode, agent.session_id != session) == ("one", True)
    assert [event.spec for event in seen.of(ModelChanged)] == [model.spec]
    assert [event.mode for event in seen.of(ModeChanged)] == ["execute"]
    assert (await agent.prompt("again")).text == "first"


async def test_appended_messages_reach_the_next_request_the_events_and_the_session(make_agent, requests, tmp_path):
    agent = make_agent("done")
    store = SessionRecorder(tmp_path / "data", tmp_path, agent.session_id)
    agent.subscribe(store.store)
    call = ToolCall("c1", "look", {})
    added = [
        user("Look."),
        AssistantMessage((call,), "m", "demo", stop_reason="tool_use"),
        ToolResult("c1", "look", (Text("seen"),)),
        CustomMessage("mark", {}),
    ]

    agent.append_messages(added)
    await agent.prompt("go")
    store.close()

    assert list(agent.messages[:4]) == added
    assert list(requests(agent)[0].messages[:3]) == added[:3]
    assert [message.id for message in load_session(store.path).messages] == [each.id for each in agent.messages]


def test_messages_are_cleared(make_agent):
    agent = make_agent(messages=(user("before"),))

    agent.clear_messages()

    assert agent.messages == ()


@pytest.mark.parametrize(
    "messages",
    [
        [ToolResult("c1", "look", (Text("seen"),))],
        [user("x"), AssistantMessage((ToolCall("c1", "look", {}),), "m", "demo", stop_reason="tool_use")],
    ],
)
def test_messages_with_an_open_call_cannot_be_appended(make_agent, messages):
    agent = make_agent()

    with pytest.raises(ConfigError, match="c1"):
        agent.append_messages(messages)

    assert agent.messages == ()


async def test_state_cannot_be_changed_during_a_run(make_agent):
    agent = make_agent(Reply((Hang(),)))
    run = asyncio.create_task(agent.prompt("go"))
    await until(lambda: agent.is_running)

    for change in (lambda: agent.append_messages([user("x")]), agent.clear_messages, agent.reset):
        with pytest.raises(AlreadyRunning):
            change()

    agent.abort()
    await run
