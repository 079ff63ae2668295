"""Reading of messages from the lines of session files, ours and Claude Code's.

Nothing here raises: whatever a line lacks is left out of the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from sys import intern
from typing import cast, get_args

import msgspec
from msgspec.structs import replace

from harness.codec import decode_or_none
from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Citation,
    Cost,
    Image,
    JsonObject,
    JsonValue,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
)
from harness.session.records import STOP_REASONS, writable
from harness.views import View

_DECODER = msgspec.json.Decoder[JsonValue]()
"""Twice as fast as `json`, which matters for long sessions."""
_JSON = json.JSONDecoder()
_LINE_START = re.compile(
    rb'(?<!^)(?=\{"parentUuid": ?(?:null|")|\{"type":"(?:cinch-|custom-title"|ai-title"|tag"|summary"))'
)
_STOPS: dict[str, StopReason] = {reason: reason for reason in get_args(StopReason)}
_FOREIGN_STOPS: dict[str, StopReason] = {name: _STOPS[ours] for ours, name in STOP_REASONS.items()}


def parse(line: bytes) -> JsonObject | None:
    """Parse a line; None if it is not a JSON object or is nested too deeply."""
    try:
        value: JsonValue = _DECODER.decode(line)
    except (ValueError, RecursionError):
        value = _parse_leniently(line)
    return value if isinstance(value, dict) else None


def _parse_leniently(line: bytes) -> JsonValue:
    """Parse a line with lone surrogates or infinite numbers, which msgspec rejects."""
    try:
        return writable(json.loads(line))
    except (ValueError, RecursionError):
        return None


def split_joined(raw: bytes) -> list[bytes]:
    """Split a line at the records in it and the damage between them."""
    # Each byte is one character, so that positions agree.
    text = raw.decode("latin-1")
    pieces: list[bytes] = []
    done = 0
    for start in (0, *(match.start() for match in _LINE_START.finditer(raw))):
        if start < done:
            continue  # within a record
        if start > done:
            pieces.append(raw[done:start])
            done = start
        try:
            _, done = _JSON.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        pieces.append(raw[start:done])
    return [*pieces, raw[done:]] if done < len(raw) else pieces


def text_at(record: Mapping[str, JsonValue], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def object_at(record: Mapping[str, JsonValue], key: str) -> JsonObject:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def blocks_of(record: JsonObject) -> list[JsonObject]:
    """Return the content blocks of a line; a plain string counts as one text block."""
    message = record.get("message")
    return _blocks(message.get("content")) if isinstance(message, dict) else []


def time_of(record: JsonObject) -> float:
    return iso_time(text_at(record, "timestamp"))


def iso_time(text: str) -> float:
    """Return an ISO time in seconds since the epoch; 0 if it cannot be read."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def tool_result_of(record: JsonObject) -> JsonObject | None:
    """Return the tool_result block of a line, if it has one."""
    content = object_at(record, "message").get("content") if record.get("type") == "user" else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            return block
    return None


def call_lines(lines: Iterable[JsonObject]) -> dict[str, str]:
    """Return the uuid of the line of each tool call, by call id."""
    return {
        text_at(block, "id"): text_at(line, "uuid")
        for line in lines
        for block in blocks_of(line)
        if block.get("type") == "tool_use"
    }


def is_synthetic(record: JsonObject) -> bool:
    """Return True for the line of a message that a program wrote in the user's place."""
    ours = object_at(record, "cinch").get("synthetic")
    return bool(record.get("isMeta") or record.get("isCompactSummary") or ours)


def read_user(record: JsonObject) -> UserMessage:
    return UserMessage(
        _user_content(blocks_of(record)),
        synthetic=is_synthetic(record),
        id=text_at(record, "uuid"),
        time=time_of(record),
    )


def read_result(record: JsonObject, tool_names: Mapping[str, str]) -> ToolResult:
    """Return a tool result; `tool_names` gives the tool of a call if the line does not."""
    block = tool_result_of(record) or {}
    call_id = text_at(block, "tool_use_id")
    ours = object_at(object_at(record, "toolUseResult"), "cinch")
    return ToolResult(
        call_id,
        intern(text_at(ours, "tool") or tool_names.get(call_id, "")),
        _user_content(_blocks(block.get("content"))),
        is_error=block.get("is_error") is True,
        details=object_at(ours, "details") if "details" in ours else None,
        # Type checkers do not accept a union as a class.
        view=cast("View | None", decode_or_none(View, ours.get("view"))),  # pyright: ignore[reportArgumentType]
        id=text_at(record, "uuid"),
        time=time_of(record),
    )


def read_assistant(records: Sequence[JsonObject]) -> AssistantMessage:
    """Return one reply from its lines, each with one block or, in foreign files, several."""
    first, last = records[0], records[-1]
    message, ours = object_at(last, "message"), object_at(last, "cinch")
    failed = not ours and last.get("isApiErrorMessage") is True
    content: list[AssistantContent] = []
    for record in records:
        _add_reply_blocks(content, record)
    return AssistantMessage(
        () if failed else tuple(content),
        model=intern(text_at(ours, "model") or text_at(message, "model")),
        provider=intern(text_at(ours, "provider") if ours else "anthropic"),
        usage=read_usage(object_at(message, "usage") or object_at(ours, "usage"), ours),
        stop_reason="error" if failed else _stop_reason(text_at(ours, "stop"), message, content),
        error=_error(ours, content, failed=failed),
        response_id=text_at(ours, "responseId") if ours else text_at(message, "id"),
        id=text_at(first, "uuid"),
        time=time_of(first),
    )


def _blocks(content: JsonValue) -> list[JsonObject]:
    if isinstance(content, list):
        return [item for item in content if isinstance(item, dict)]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def objects_in(items: JsonValue) -> list[JsonObject]:
    """Return the objects in a JSON array; empty for another value."""
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


# Plain checks, because matching patterns takes several times as long, and long sessions have thousands of blocks.


def _user_content(blocks: list[JsonObject]) -> tuple[UserContent, ...]:
    return tuple([block for raw in blocks if (block := _user_block(raw))])


def _user_block(raw: JsonObject) -> UserContent | None:
    if raw.get("type") == "text":
        return Text(text) if isinstance(text := raw.get("text"), str) else None
    source = object_at(raw, "source") if raw.get("type") == "image" else {}
    media_type, data = source.get("media_type"), source.get("data")
    return Image(media_type, data) if isinstance(media_type, str) and isinstance(data, str) else None


def _add_reply_blocks(content: list[AssistantContent], record: JsonObject) -> None:
    ours = object_at(record, "cinch")
    if ours.get("closing") is True or ours.get("silent") is True:
        # Such a line has its text for other readers.
        return
    if (thinking := decode_or_none(Thinking, ours.get("thinking"))) is not None:
        content.append(thinking)
    extends = "signature" in ours or "citations" in ours
    for raw in blocks_of(record):
        if (block := _assistant_block(raw)) is not None:
            content.append(_extended(block, ours) if extends else block)


def _extended(block: AssistantContent, ours: JsonObject) -> AssistantContent:
    """Return a block with our own fields of its line."""
    if isinstance(block, Thinking):
        return block
    if signature := text_at(ours, "signature"):
        block = replace(block, signature=signature)
    # Their positions matter, so an unreadable one becomes an empty placeholder.
    citations = [decode_or_none(Citation, each) or Citation("") for each in objects_in(ours.get("citations"))]
    return replace(block, citations=tuple(citations)) if citations and isinstance(block, Text) else block


def _foreign_citations(raw: JsonObject) -> Iterator[Citation]:
    """Yield the citations of a text block of the Messages API."""
    for citation in objects_in(raw.get("citations")):
        url = text_at(citation, "url") or text_at(citation, "source")
        title = text_at(citation, "title") or text_at(citation, "document_title")
        if url or title:
            yield Citation(url, title, text_at(citation, "cited_text"))


def _assistant_block(raw: JsonObject) -> AssistantContent | None:
    kind = raw.get("type")
    if kind == "text" and isinstance(text := raw.get("text"), str):
        return Text(text, citations=tuple(_foreign_citations(raw))) if "citations" in raw else Text(text)
    if kind == "tool_use" and isinstance(call_id := raw.get("id"), str) and isinstance(name := raw.get("name"), str):
        return tool_call(call_id, name, object_at(raw, "input"))
    if kind == "thinking" and isinstance(text := raw.get("thinking"), str):
        return Thinking(text, text_at(raw, "signature") or None)
    if kind == "redacted_thinking" and isinstance(data := raw.get("data"), str):
        return Thinking("", redacted=data)
    return None


def tool_call(call_id: str, name: str, arguments: JsonObject, signature: str | None = None) -> ToolCall:
    """Return a call; arguments that were not a JSON object are in the file as a text."""
    unread = arguments.get("__unparsedToolInput")
    if isinstance(unread, dict):
        return ToolCall(call_id, intern(name), {}, text_at(unread, "raw"), signature)
    return ToolCall(call_id, intern(name), arguments, signature=signature)


def _stop_reason(ours: str, message: JsonObject, content: list[AssistantContent]) -> StopReason:
    if ours in _STOPS:
        return _STOPS[ours]
    foreign = _FOREIGN_STOPS.get(text_at(message, "stop_reason"))
    return foreign or ("tool_use" if any(isinstance(block, ToolCall) for block in content) else "stop")


def _error(ours: JsonObject, content: list[AssistantContent], *, failed: bool) -> str | None:
    if ours or not failed:
        return text_at(ours, "error") or None
    return "".join(block.text for block in content if isinstance(block, Text)) or "The request failed."


def read_usage(raw: JsonObject, ours: JsonObject) -> Usage:
    """Return the usage from token counts of the Messages API, and the cost from our own fields."""
    return Usage(
        _count(raw, "input_tokens"),
        _count(raw, "output_tokens"),
        _count(raw, "cache_read_input_tokens"),
        _count(raw, "cache_creation_input_tokens"),
        decode_or_none(Cost, ours.get("cost")),
        searches=_count(object_at(raw, "server_tool_use"), "web_search_requests"),
    )


def _count(raw: JsonObject, key: str) -> int:
    value = raw.get(key, 0)
    return value if isinstance(value, int) else 0
