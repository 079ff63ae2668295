"""Session files written as a real run writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from harness.events import Event, MessageEnd, ToolExecutionEnd, TurnEnd
from harness.messages import AssistantMessage, Message, ModelMessage, Text, ToolCall, ToolResult, new_id, user
from harness.session.recorder import SessionRecorder


def call(call_id: str, name: str = "read_file", **arguments: str) -> ToolCall:
    return ToolCall(call_id, name, dict(arguments))


def reply(*content: Text | ToolCall | str) -> AssistantMessage:
    blocks = tuple(Text(each) if isinstance(each, str) else each for each in content)
    stop = "tool_use" if any(isinstance(block, ToolCall) for block in blocks) else "stop"
    return AssistantMessage(blocks, "m-1", "demo", stop_reason=stop)


def result(call_id: str, text: str = "fine", name: str = "read_file") -> ToolResult:
    return ToolResult(call_id, name, (Text(text),))


def event_for(message: ModelMessage) -> Event:
    return ToolExecutionEnd(result=message) if isinstance(message, ToolResult) else MessageEnd(message=message)


def tell(store: SessionRecorder, *messages: ModelMessage) -> None:
    for message in messages:
        store.store(event_for(message))
    # Usually all is written by now; a busy machine may take longer.
    store.flush()


def written(tmp_path: Path, *messages: ModelMessage, session_id: str = "") -> Path:
    """Return the file of a finished session in a folder of `tmp_path`."""
    store = SessionRecorder(tmp_path / "data", tmp_path, session_id or new_id())
    tell(store, *messages)
    store.store(TurnEnd(message=reply("end")))
    store.close()
    return store.path


def rounded(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with their times in milliseconds, as a file stores them."""
    moments = [datetime.fromtimestamp(message.time, UTC) for message in messages]
    return [
        replace(message, time=moment.replace(microsecond=moment.microsecond // 1000 * 1000).timestamp())
        for message, moment in zip(messages, moments, strict=True)
    ]


def tour() -> list[ModelMessage]:
    """Return a conversation with parallel calls."""
    return [
        user("look at both"),
        reply("looking", call("a", path="x"), call("b", path="y")),
        result("a", "first"),
        result("b", "second"),
        reply("both are fine"),
    ]
