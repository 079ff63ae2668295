from __future__ import annotations

import pytest

from harness.context.history import History
from harness.deltas import BlockDelta
from harness.events import MessageUpdate, Notice
from harness.messages import AssistantMessage, CustomMessage, Text, ToolCall, ToolResult, user
from harness.publishing import Channel


def asking(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(each, "look", {}) for each in ids))


def test_only_results_can_follow_open_calls():
    history = History([user("go")])
    history.append(asking("1", "2"))
    history.append(ToolResult("1", "look", (Text("ok"),)))

    with pytest.raises(ValueError, match="without a result: 2"):
        history.append(user("next"))


def test_result_without_a_call_is_rejected():
    history = History()

    with pytest.raises(ValueError, match="no open call"):
        history.append(ToolResult("1", "look", ()))


def test_custom_messages_do_not_trigger_the_model():
    history = History()
    history.append(CustomMessage("note", {}))

    assert history.at_rest


async def test_lagging_reader_gets_all_text_in_few_events():
    channel = Channel(capacity=3)
    channel.put(Notice(text="first"))
    for number in range(1000):
        channel.put(MessageUpdate(message_id="m", delta=BlockDelta(0, f"{number} ")))
    channel.put(Notice(text="last"))

    events = [await channel.get()]
    while not isinstance(events[-1], Notice) or len(events) == 1:
        events.append(await channel.get())

    assert len(events) < 10
    said = "".join(event.delta.text for event in events if isinstance(event, MessageUpdate))
    assert said == "".join(f"{number} " for number in range(1000))
