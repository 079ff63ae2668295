from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.talk import result, written
from msgspec.structs import replace

from harness.agent.reply import ReplyBuilder
from harness.codec import decode, encode
from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.messages import AssistantMessage, ModelSpec, Text, Thinking, ToolCall, user
from harness.session.resume import load_session

SIGNED = (
    Thinking("Hm", "s1"),
    Text("So", "s2"),
    Text("", "s3"),
    ToolCall("a", "bash", {"x": 1}, signature="s4"),
    ToolCall("b", "bash", {}, '{"x', "s5"),
)


def built(*deltas: Delta) -> AssistantMessage:
    builder = ReplyBuilder(ModelSpec("p", "m"))
    for delta in deltas:
        builder.take(delta)
    return builder.finish()


def test_block_of_any_kind_keeps_its_signature() -> None:
    message = built(
        *(BlockStart(0, "thinking"), BlockDelta(0, "Hm"), BlockEnd(0, "s1")),
        *(BlockStart(1, "text"), BlockDelta(1, "So"), BlockEnd(1, "s2")),
        *(BlockStart(2, "text"), BlockEnd(2, "s3")),
        *(BlockStart(3, "tool_call", "a", "bash"), BlockDelta(3, '{"x": 1}'), BlockEnd(3, "s4")),
        *(BlockStart(4, "tool_call", "b", "bash"), BlockDelta(4, '{"x'), BlockEnd(4, "s5")),
        Done("tool_use"),
    )

    assert message.content == SIGNED


def test_empty_unsigned_text_is_not_a_block() -> None:
    assert built(BlockStart(0, "text"), BlockEnd(0), Done("stop")).content == ()


@pytest.mark.parametrize("block", SIGNED)
def test_signature_survives_the_session_file(tmp_path: Path, block: Text | Thinking | ToolCall) -> None:
    said = AssistantMessage((Text("first"), block, Text("last")), "m", "p", stop_reason="tool_use")

    path = written(tmp_path, user("go"), said, result("a"), result("b"))

    assert load_session(path).messages[1].content == said.content


def test_session_readers_meet_no_unknown_field(tmp_path: Path) -> None:
    path = written(tmp_path, user("go"), AssistantMessage(SIGNED[1:4], "m", "p", stop_reason="tool_use"), result("a"))

    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    blocks = [line["message"]["content"][0] for line in lines if line["type"] == "assistant"]
    assert [sorted(block) for block in blocks[:3]] == [["text", "type"]] * 2 + [["id", "input", "name", "type"]]


def test_serialized_event_keeps_signatures_and_omits_missing_ones() -> None:
    message = AssistantMessage(SIGNED, "m", "p")

    assert decode(AssistantMessage, encode(message)) == message
    assert "signature" not in encode(replace(SIGNED[1], signature=None))
