from __future__ import annotations

import json

import pytest
from fakes.runs import calls, texts_of
from fakes.simple_tools import SimpleTool, sleeper

from harness.errors import AlreadyRunning, CinchError, ConfigError
from harness.events import ToolExecutionStart
from harness.messages import CustomMessage, Image, Text, UserMessage


async def test_conversation_is_saved_and_restored(make_agent, requests):
    agent = make_agent(calls("look", where="here"), "seen", tools=[SimpleTool("look")])
    await agent.prompt((Text("what is this?"), Image("image/png", "aGk=")))
    agent.replace_messages([*agent.history, CustomMessage("note", {"deep": [1, {"x": None}]})])
    other = make_agent("more")

    saved = agent.save_messages()
    other.restore_messages(saved)
    await other.prompt("go on")

    assert tuple(other.history)[:5] == tuple(agent.history)
    assert [type(message).__name__ for message in requests(other)[0].messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "AssistantMessage",
        "UserMessage",
    ]
    assert [each["type"] for each in json.loads(saved)][-1] == "custom_message"


async def test_conversation_with_a_lone_surrogate_is_saved(make_agent):
    agent = make_agent(messages=[UserMessage((Text("broken \ud83d here"),))])
    other = make_agent()

    other.restore_messages(agent.save_messages())

    assert texts_of(other) == ["broken \ud83d here"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "{}",
        '"text"',
        "[1]",
        "[[]]",
        "[null]",
        '[{"type": "martian"}]',
        '[{"type": "user_message"}]',
        pytest.param("[" * 100_000, id="deep"),
    ],
)
async def test_invalid_saved_conversation_is_rejected_without_side_effects(make_agent, text):
    agent = make_agent(messages=[UserMessage((Text("keep me"),))])

    with pytest.raises(ConfigError, match=r"."):
        agent.restore_messages(text)

    assert issubclass(ConfigError, CinchError)
    assert texts_of(agent) == ["keep me"]


async def test_restoring_during_a_run_raises(make_agent):
    agent = make_agent(calls("slow"), "done", tools=[sleeper("slow", 0.01)])
    refused = []

    async for event in agent.stream("go"):
        if isinstance(event, ToolExecutionStart):
            with pytest.raises(AlreadyRunning):
                agent.restore_messages("[]")
            refused.append(event)

    assert refused
    assert texts_of(agent) == ["go"]


def test_non_object_arguments_are_rejected(make_agent):
    agent = make_agent()
    call = {"type": "tool_call", "id": "1", "name": "look", "arguments": ["no"]}

    with pytest.raises(ConfigError, match="Expected `object`"):
        agent.restore_messages(json.dumps([{"type": "assistant_message", "content": [call]}]))
