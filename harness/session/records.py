"""Lines of a session file, in the format that Claude Code's readers expect.

The envelope precedes the message, so that our reader finds a line's place in the conversation in its first bytes.
Everything that Claude Code's format lacks is stored under the key `cinch`, or in lines of types `cinch-…`.

Source: session files written by Claude Code.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from datetime import UTC, datetime

from msgspec import Struct

from harness.codec import encode
from harness.messages import (
    Image,
    JsonObject,
    JsonValue,
    Text,
    ToolResult,
    UserContent,
    UserMessage,
)

FORMAT = 1
"""Version of our extensions; a file with a higher one is not opened."""
VERSION = f"{FORMAT}.0.0"
"""The same as a program version, which readers expect."""

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_use": "tool_use"}

_SURROGATES = re.compile("[\ud800-\udfff]")


class Envelope(Struct, frozen=True):
    """Fields that all lines of a session share."""

    session_id: str
    cwd: str
    git_branch: str = ""

    def wrap(self, kind: str, line_id: str, parent: str | None, time: float) -> JsonObject:
        """Return the start of a line, with its keys in the order that `harness.session.line_index` recognizes."""
        return {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": line_id, "timestamp": iso(time)}

    def tail(self) -> JsonObject:
        return {
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": self.git_branch,
        }


def iso(time: float) -> str:
    """Return a time with milliseconds and a Z, as Claude Code writes it."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line_id(message_id: str, index: int) -> str:
    """Return the uuid of a block's line: the message's id for the first block, derived from it for others."""
    return message_id if index == 0 else str(uuid.uuid5(uuid.NAMESPACE_OID, f"{message_id}#{index}"))


def to_bytes(record: JsonObject) -> bytes:
    """Return a record as one compact line of valid UTF-8."""
    try:
        return _dump(record)
    except ValueError:
        return _dump(writable(record))


def user_line(message: UserMessage, parent: str | None, envelope: Envelope) -> JsonObject:
    content: JsonObject = {"role": "user", "content": _user_content(message.content)}
    wrapped = envelope.wrap("user", message.id, parent, message.time)
    line: JsonObject = {**wrapped, **envelope.tail(), "message": content}
    if message.synthetic:
        line["isMeta"] = True
    return line


def result_line(result: ToolResult, parent: str | None, envelope: Envelope) -> JsonObject:
    """Return a tool result as a user line; `parent` is the line of its call."""
    block: JsonObject = {
        "tool_use_id": result.call_id,
        "type": "tool_result",
        "content": _user_content(result.content),
    }
    if result.is_error:
        block["is_error"] = True
    ours: JsonObject = {"tool": result.tool_name}
    if result.details is not None:
        ours["details"] = result.details
    if result.view is not None:
        ours["view"] = encode(result.view)
    return {
        **envelope.wrap("user", result.id, parent, result.time),
        "sourceToolAssistantUUID": parent or "",
        **envelope.tail(),
        "message": {"role": "user", "content": [block]},
        "toolUseResult": {"cinch": ours},
    }


def placeholder_line(lost: str, parent: str | None, time: float, envelope: Envelope) -> JsonObject:
    """Return a placeholder for a lost line, to which its children link."""
    return {
        **envelope.wrap("system", lost, parent, time),
        **envelope.tail(),
        "subtype": "informational",
        "content": "A line of the session file was lost here.",
        "level": "warning",
    }


def header_line(envelope: Envelope, first: JsonObject) -> JsonObject:
    """Return the first line of a file, with the time of its first message."""
    return {
        "type": "cinch-session",
        "format": FORMAT,
        "sessionId": envelope.session_id,
        "cwd": envelope.cwd,
        "timestamp": first.get("timestamp"),
    }


def title_line(session_id: str, title: str) -> JsonObject:
    return {"type": "custom-title", "customTitle": title, "sessionId": session_id}


def note_line(kind: str, session_id: str, time: float, facts: JsonObject) -> JsonObject:
    """Return a line that is not part of the conversation: `cinch-model`, `cinch-mode`, `cinch-run`, …"""
    return {"type": f"cinch-{kind}", "sessionId": session_id, "timestamp": iso(time), **facts}


def writable(value: JsonValue) -> JsonValue:
    """Return the value without infinite numbers and lone surrogates, which JSON or UTF-8 cannot represent."""
    match value:
        case str():
            return _SURROGATES.sub("\ufffd", value)
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [writable(item) for item in value]
        case dict():
            return {_SURROGATES.sub("\ufffd", key): writable(item) for key, item in value.items()}
        case _:
            return value


def _dump(record: JsonValue) -> bytes:
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str, skipkeys=True)
    return text.encode() + b"\n"


def _user_content(content: tuple[UserContent, ...]) -> JsonValue:
    match content:
        case (Text(text),) if text:
            return text
        case _:
            return [_user_block(block) for block in content]


def _user_block(block: UserContent) -> JsonValue:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(media_type, data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
