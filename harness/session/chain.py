"""Chain of a session's lines: the parent of each message's line."""

from __future__ import annotations

from typing import assert_never

from harness.messages import AssistantMessage, JsonObject, ModelMessage, ToolResult, UserMessage
from harness.session.reading import blocks_of, text_at
from harness.session.records import Envelope, result_line, user_line
from harness.session.reply_lines import assistant_lines


class Chain:
    """Converts messages to lines, in order. `parent` is the uuid of the line that the next message links to."""

    def __init__(self, parent: str | None) -> None:
        self.parent = parent
        self.call_lines: dict[str, str] = {}
        """Uuids of the lines with calls that have no result yet, by call id."""

    def lines(self, message: ModelMessage, envelope: Envelope) -> list[JsonObject]:
        match message:
            case UserMessage():
                lines = [user_line(message, self.parent, envelope)]
            case AssistantMessage():
                lines = assistant_lines(message, self.parent, envelope)
                self.call_lines = call_lines(lines)
            case ToolResult():
                # Parallel calls fork the tree: the parent of each result is the line of its call.
                lines = [result_line(message, self.call_lines.pop(message.call_id, self.parent), envelope)]
            case _:
                assert_never(message)
        self.parent = text_at(lines[-1], "uuid")
        return lines


def call_lines(lines: list[JsonObject]) -> dict[str, str]:
    """Return the uuid of the line of each tool call, by call id."""
    return {
        text_at(block, "id"): text_at(line, "uuid")
        for line in lines
        for block in blocks_of(line)
        if block.get("type") == "tool_use"
    }
