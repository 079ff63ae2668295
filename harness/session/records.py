"""Lines of a session file, in the format that Claude Code's readers expect.

The envelope precedes the message, so that our reader finds a line's place in the conversation in its first bytes.
Everything that Claude Code's format lacks is stored under the key `cinch`, or in lines of types `cinch-…`. Those
readers send on what they find, so the message of a reply contains only what a Claude model accepts.

Source: session files written by Claude Code.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct, to_builtins

from harness.codec import encode
from harness.messages import (
    HOSTED_SEARCH,
    AssistantContent,
    AssistantMessage,
    Image,
    JsonObject,
    JsonValue,
    ModelMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserContent,
    UserMessage,
)
from harness.session.notes import FORMAT, HeaderNote, Note, cost_facts, hash_of, usage_facts

VERSION = f"{FORMAT}.0.0"
"""The same as a program version, which readers expect."""

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_use": "tool_use", "pause": "pause_turn"}

_SURROGATES = re.compile("[\ud800-\udfff]")


class Envelope(Struct, frozen=True):
    """Fields that all lines of a session share."""

    session_id: str
    cwd: str
    git_branch: str = ""
    agent_id: str = ""
    """Id of the subagent whose conversation it is; empty for that of the agent."""

    def wrap(self, kind: str, line_id: str, parent: str | None, time: float) -> JsonObject:
        """Return the start of a line, with its keys in the order that `harness.session.line_index` recognizes."""
        side = bool(self.agent_id)
        return {
            "parentUuid": parent,
            "isSidechain": side,
            "type": kind,
            "uuid": line_id,
            "timestamp": iso(time),
        }

    def tail(self) -> JsonObject:
        agent: JsonObject = {"agentId": self.agent_id} if self.agent_id else {}
        return {
            "userType": "external",
            **agent,
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


def to_bytes(record: JsonObject | Note) -> bytes:
    """Return a record as one compact line of valid UTF-8."""
    try:
        return msgspec.json.encode(record) + b"\n" if isinstance(record, Note) else _dump(record)
    except ValueError:
        return _dump(writable(to_builtins(record)))


def user_line(message: UserMessage, parent: str | None, envelope: Envelope) -> JsonObject:
    content: JsonObject = {"role": "user", "content": _user_content(message.content)}
    wrapped = envelope.wrap("user", message.id, parent, message.time)
    line: JsonObject = {**wrapped, **envelope.tail(), "message": content}
    if message.synthetic:
        # Not a meta line: if a crash leaves one at the end, Claude Code's readers take another branch.
        line["cinch"] = {"synthetic": True}
    return line


def result_line(result: ToolResult, parent: str | None, envelope: Envelope) -> JsonObject:
    """Return a tool result as a user line; `parent` is the line of its call."""
    block: JsonObject = {"tool_use_id": result.call_id, "type": "tool_result", "content": _user_content(result.content)}
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


def tombstone_line(deleted: str, envelope: Envelope) -> JsonObject:
    """Return a line that removes another one from the conversation."""
    return {"type": "tombstone", "deletedUuid": deleted, "sessionId": envelope.session_id}


def header_note(
    envelope: Envelope, timestamp: str, system: str = "", tools: Mapping[str, str] | None = None, cache_key: str = ""
) -> HeaderNote:
    """Return the first line of a file, with the time of its first message; other fields as in `HeaderNote`."""
    return HeaderNote(
        session_id=envelope.session_id,
        timestamp=timestamp,
        cwd=envelope.cwd,
        system_hash=hash_of(system),
        system=system,
        tools=dict(tools or {}),
        cache_key=cache_key,
        records_calls=True,
    )


def title_line(session_id: str, title: str) -> JsonObject:
    return {"type": "custom-title", "customTitle": title, "sessionId": session_id}


def automatic_title_line(session_id: str, title: str) -> JsonObject:
    """Return the line of a title that a model wrote; one that the user sets takes precedence."""
    return {"type": "ai-title", "aiTitle": title, "sessionId": session_id}


def tag_line(session_id: str, tags: Sequence[str]) -> JsonObject:
    """Return the line with all tags of a session; they replace those of earlier lines."""
    return {"type": "tag", "tag": ", ".join(tags), "sessionId": session_id}


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


INTERRUPTED = "[Request interrupted by user]"
"""Claude Code's own text, which its readers recognize."""
SYNTHETIC = "<synthetic>"
"""Model of an error message: Claude Code displays such a reply and never sends it."""


class LineBuilder:
    """Converts messages to lines, in order. `parent` is the uuid of the line that the next message links to."""

    def __init__(self, parent: str | None) -> None:
        self.parent = parent
        self.call_lines: dict[str, str | None] = {}
        """Uuids of the lines with calls that have no result yet, by call id."""

    def lines(self, message: ModelMessage, envelope: Envelope) -> list[JsonObject]:
        match message:
            case UserMessage():
                lines = [user_line(message, self.parent, envelope)]
            case AssistantMessage(content, id=message_id):
                lines = assistant_lines(message, self.parent, envelope)
                calls = ((at, block.id) for at, block in enumerate(content) if isinstance(block, ToolCall))
                self.call_lines = {call_id: line_id(message_id, at) for at, call_id in calls}
            case ToolResult():
                # Parallel calls fork the tree: the parent of each result is the line of its call.
                lines = [result_line(message, self.call_lines.pop(message.call_id, self.parent), envelope)]
        self.parent = str(lines[-1]["uuid"])
        return lines


def assistant_lines(message: AssistantMessage, parent: str | None, envelope: Envelope) -> list[JsonObject]:
    """Return one line per block; a reply that failed, was interrupted or is empty ends with a closing line."""
    facts = _reply_facts(message)
    lines: list[JsonObject] = []
    for index, block in enumerate(message.content):
        line = _wrapped("assistant", message, index, parent, envelope)
        line["message"] = _api_message(message, [api_block(block)] if _is_sendable(block, message.model) else [])
        line["cinch"] = {**facts, **_block_facts(block, message.model)}
        lines.append(line)
        parent = line_id(message.id, index)
    if not message.content or (message.stop_reason in ("aborted", "error") and not message.tool_calls):
        lines.append(_closing_line(message, parent, envelope, facts))
    return lines


def _wrapped(kind: str, message: AssistantMessage, index: int, parent: str | None, envelope: Envelope) -> JsonObject:
    wrapped = envelope.wrap(kind, line_id(message.id, index), parent, message.time)
    return {**wrapped, "requestId": message.id, **envelope.tail()}


def _closing_line(message: AssistantMessage, parent: str | None, envelope: Envelope, facts: JsonObject) -> JsonObject:
    """Return a line that describes how the reply ended; it is not part of its content."""
    is_interrupted = message.stop_reason == "aborted"
    line = _wrapped("user" if is_interrupted else "assistant", message, len(message.content), parent, envelope)
    ours: JsonObject = {**facts, "closing": True, "model": message.model}
    if is_interrupted:
        line["message"] = {"role": "user", "content": [{"type": "text", "text": INTERRUPTED}]}
        ours["usage"] = usage_facts(message.usage)
    else:
        reason: JsonObject = {"type": "text", "text": message.error or f"No reply ({message.stop_reason})."}
        line["message"] = {**_api_message(message, [reason]), "model": SYNTHETIC}
        line["isApiErrorMessage"] = True
    line["cinch"] = ours
    return line


def _is_sendable(block: AssistantContent, model: str) -> bool:
    """Return False for thinking without a signature of a Claude model, which its API rejects, and for searches."""
    if not isinstance(block, Thinking):
        return True
    is_signed = bool(block.signature or block.redacted) and "claude" in model.lower()
    return is_signed and not block.text.startswith(HOSTED_SEARCH)


def api_block(block: AssistantContent) -> JsonObject:
    """Return a block in the format of the Messages API."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(_, _, str(redacted)):
            return {"type": "redacted_thinking", "data": redacted}
        case Thinking(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case ToolCall(call_id, name, arguments, partial_json):
            unread: JsonObject = {"__unparsedToolInput": {"raw": partial_json}}
            return {"type": "tool_use", "id": call_id, "name": name, "input": unread if partial_json else arguments}


def _block_facts(block: AssistantContent, model: str) -> JsonObject:
    """Return the parts of a block that Claude Code's format lacks or that must not be sent on."""
    facts: JsonObject = {}
    if not _is_sendable(block, model):
        facts["thinking"] = encode(block)
    if isinstance(block, Text | ToolCall) and block.signature is not None:
        facts["signature"] = block.signature
    if isinstance(block, Text) and block.citations:
        facts["citations"] = [encode(each) for each in block.citations]
    return facts


def _api_message(message: AssistantMessage, blocks: list[JsonValue]) -> JsonObject:
    return {
        # Our id and not the service's: some services give every reply the same id, by which readers merge replies.
        "id": f"msg_{message.id.replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": blocks,
        "stop_reason": STOP_REASONS.get(message.stop_reason),
        "stop_sequence": None,
        "usage": usage_facts(message.usage),
    }


def _reply_facts(message: AssistantMessage) -> JsonObject:
    facts: JsonObject = {"provider": message.provider, "stop": message.stop_reason, "responseId": message.response_id}
    if message.error is not None:
        facts["error"] = message.error
    if cost := cost_facts(message.usage.cost):
        facts["cost"] = cost
    return facts
