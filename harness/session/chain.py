"""Links of a session's conversation: the line that each message hangs under."""

from __future__ import annotations

from typing import assert_never

from harness.messages import AssistantMessage, JsonObject, ModelMessage, ToolResult, UserMessage
from harness.session.reading import blocks_of, text_at
from harness.session.records import Envelope, result_line, user_line
from harness.session.reply_lines import assistant_lines


class Chain:
    """Turns messages into lines, in their order. `parent` is the uuid that the next message hangs under."""

    def __init__(self, parent: str | None) -> None:
        self.parent = parent
        self.call_lines: dict[str, str] = {}
        """The uuids of the lines that hold the calls without a result, by the calls' ids."""

    def lines(self, message: ModelMessage, envelope: Envelope) -> list[JsonObject]:
        match message:
            case UserMessage():
                lines = [user_line(message, self.parent, envelope)]
            case AssistantMessage():
                lines = assistant_lines(message, self.parent, envelope)
                self.call_lines = call_lines(lines)
            case ToolResult():
                # Parallel calls fork the tree: each result hangs under the line of its own call.
                lines = [result_line(message, self.call_lines.pop(message.call_id, self.parent), envelope)]
            case _:
                assert_never(message)
        self.parent = text_at(lines[-1], "uuid")
        return lines


def call_lines(lines: list[JsonObject]) -> dict[str, str]:
    """The uuid of the line that holds each tool call, by the call's id."""
    return {
        text_at(block, "id"): text_at(line, "uuid")
        for line in lines
        for block in blocks_of(line)
        if block.get("type") == "tool_use"
    }
