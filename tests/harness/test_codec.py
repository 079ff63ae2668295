from __future__ import annotations

import json
from typing import get_args

import pytest
from fakes.simple_tools import SimpleTool

from harness.codec import decode, encode
from harness.events import Event, ToolExecutionEnd
from harness.messages import AssistantMessage, Text, Thinking, ToolCall, ToolResult, Usage, UserMessage
from harness.views import DiffView, TodoItem, TodoView, View
from providers.demo import Call, Reply, Say, Think


async def test_every_event_of_a_run_round_trips_through_json(make_agent, record):
    reply = Reply((Think("hm"), Say("let me look"), Call("look", {"deep": {"list": [1, 2.5, None, True]}})))
    agent = make_agent(reply, "done", tools=[SimpleTool("look", risk="edit")])
    happened = record(agent)

    await agent.prompt("go")

    for event in happened.events:
        assert decode(Event, json.loads(json.dumps(encode(event)))) == event


@pytest.mark.parametrize(
    "view", [DiffView("a.py", None, "new"), TodoView((TodoItem("test", "in_progress"),)), DiffView("a", "b", None)]
)
def test_views_round_trip_through_json(view):
    result = ToolResult("1", "edit", (Text("ok"),), details={"a": [1, {"b": None}]}, view=view)

    assert decode(ToolResult, json.loads(json.dumps(encode(result)))) == result


def test_messages_round_trip_through_json():
    reply = AssistantMessage((Thinking("t", "s"), Text("x"), ToolCall("1", "n", {"a": 1})), usage=Usage(1, 2))

    assert decode(AssistantMessage | UserMessage, encode(reply)) == reply


def test_fields_of_a_newer_version_are_ignored():
    data = encode(DiffView("a", None, "x")) | {"since": 2}

    assert decode(View, data) == DiffView("a", None, "x")


@pytest.mark.parametrize(
    "data", [{}, {"type": "martian"}, [], "text", {"type": "diff_view"}, {"type": "todo_view", "items": 3}]
)
def test_unrelated_data_is_rejected(data):
    with pytest.raises(ValueError, match=r".+"):
        decode(View, data)


def test_every_event_has_a_unique_tag():
    tags = {encode(ToolExecutionEnd(result=ToolResult("1", "n", ())))["type"]}

    assert tags == {"tool_execution_end"}
    assert len({kind.__name__ for kind in get_args(Event)}) == len(get_args(Event))
