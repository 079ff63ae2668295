"""Import of swink-agent sessions: a line of metadata, then one line per message or entry.

Lines of an append that was not completed by a `_meta` line are left out, as swink-agent does.

Source: swink-agent, `memory/src/{jsonl,codec,entry,meta}.rs` and `src/types`.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.messages import (
    AssistantContent,
    AssistantMessage,
    Cost,
    CustomMessage,
    JsonObject,
    JsonValue,
    ModelSpec,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserContent,
    UserMessage,
)
from harness.session.formats.foreign import (
    Entry,
    ForeignSession,
    ModelUsed,
    count_at,
    image_source,
    tool_call,
)
from harness.session.reading import iso_time, object_at, objects_in, text_at
from harness.thinking_level import THINKING_LEVELS, ThinkingLevel

_ROLES = frozenset({"user", "assistant", "tool_result"})
_STOPS: dict[str, StopReason] = {"length": "length", "tool_use": "tool_use", "aborted": "aborted", "error": "error"}
_LEVELS: dict[str, ThinkingLevel] = {level: level for level in THINKING_LEVELS}
_MILLISECONDS = 1e11
"""Times above it are in milliseconds, others in seconds."""
_LATEST = 1e14
"""Times above it are invalid; in milliseconds, the year 5138."""


def is_swink(record: JsonObject) -> bool:
    """Return True for a line of a swink-agent session."""
    if {"id", "title", "created_at", "updated_at"} <= record.keys():
        return True
    return "entry_type" in record or (text_at(record, "role") in _ROLES and "timestamp" in record)


def read_swink(records: Iterable[JsonObject | None]) -> ForeignSession:
    """Return the conversation of a swink-agent session from its lines; None is a line that could not be read."""
    reader = _Reader()
    for record in records:
        reader.read(record)
    reader.discard_append()
    return reader.session


class _Reader:
    def __init__(self) -> None:
        self.session = ForeignSession()
        self._time = 0.0
        self._tools: dict[str, str] = {}
        self._append: int | None = None
        """Number of entries before an append that is not completed."""

    def read(self, record: JsonObject | None) -> None:
        match record:
            case None:
                self.session.damaged += 1
            case {"_append": True}:
                self.discard_append()
                self._append = len(self.session.entries)
            case {"_meta": True}:
                self._append = None
                self._meta(object_at(record, "data"))
            case {"created_at": str()}:
                self._meta(record)
            case _:
                self._record(record)

    def _record(self, record: JsonObject) -> None:
        match record:
            case {"_state": True}:
                self._custom("swink_state", record.get("data"))
            case {"_custom": True}:
                self._custom(text_at(record, "type"), record.get("data"))
            case {"entry_type": str(kind)}:
                self._entry(kind, object_at(record, "data"))
            case {"role": str()}:
                self._message(record)
            case _:
                self.session.left_out["line of an unknown type"] += 1

    def discard_append(self) -> None:
        """Remove the entries of an append that was not completed."""
        if self._append is not None:
            lost = len(self.session.entries) - self._append
            del self.session.entries[self._append :]
            if lost:
                self.session.left_out["line of an incomplete append"] += lost
        self._append = None

    def _meta(self, data: JsonObject) -> None:
        self.session.title = text_at(data, "title")
        self._time = self._time or iso_time(text_at(data, "created_at"))

    def _entry(self, kind: str, data: JsonObject) -> None:
        self._at(data)
        if kind == "message":
            self._message(data)
        elif kind == "model_change":
            to = object_at(data, "to")
            level = text_at(to, "thinking_level").replace("_", "-")
            thinking = _LEVELS.get(level, "off")
            spec = ModelSpec(text_at(to, "provider"), text_at(to, "model_id"), thinking)
            self._add(ModelUsed(spec, self._time))
        else:
            self._custom(kind, dict(data))

    def _custom(self, kind: str, data: JsonValue) -> None:
        self._add(CustomMessage(kind, data if isinstance(data, dict) else {"value": data}, time=self._time))

    def _message(self, data: JsonObject) -> None:
        self._at(data)
        match text_at(data, "role"):
            case "user":
                self._add(UserMessage(self._user_content(data), time=self._time))
            case "assistant":
                self._add(self._reply(data))
            case "tool_result":
                call_id = text_at(data, "tool_call_id")
                result = ToolResult(
                    call_id,
                    self._tools.get(call_id, ""),
                    self._user_content(data),
                    is_error=data.get("is_error") is True,
                    details=object_at(data, "details") or None,
                    time=self._time,
                )
                self._add(result)
            case role:
                self.session.left_out[f"message of role {role}"] += 1

    def _reply(self, data: JsonObject) -> AssistantMessage:
        content = tuple(block for raw in _blocks(data) for block in self._reply_block(raw))
        self._tools.update({block.id: block.name for block in content if isinstance(block, ToolCall)})
        usage, cost = object_at(data, "usage"), object_at(data, "cost")
        amounts = Cost(*(_amount(cost, key) for key in ("input", "output", "cache_read", "cache_write")))
        return AssistantMessage(
            content,
            text_at(data, "model_id"),
            text_at(data, "provider"),
            Usage(
                *(count_at(usage, key) for key in ("input", "output", "cache_read", "cache_write")),
                cost=amounts if amounts.total else None,
            ),
            _STOPS.get(text_at(data, "stop_reason"), "stop"),
            text_at(data, "error_message") or None,
            time=self._time,
        )

    def _reply_block(self, raw: JsonObject) -> tuple[AssistantContent, ...]:
        match raw:
            case {"type": "text", "text": str(text)}:
                return (Text(text),)
            case {"type": "thinking", "thinking": str(text)}:
                return (Thinking(text, text_at(raw, "signature") or None),)
            case {"type": "tool_call", "id": str(call_id), "name": str(name)}:
                return (tool_call(call_id, name, text_at(raw, "partial_json") or raw.get("arguments")),)
            case _:
                self.session.left_out[f"content of type {text_at(raw, 'type')}"] += 1
                return ()

    def _user_content(self, data: JsonObject) -> tuple[UserContent, ...]:
        return tuple(block for raw in _blocks(data) for block in self._user_block(raw))

    def _user_block(self, raw: JsonObject) -> tuple[UserContent, ...]:
        match raw:
            case {"type": "text", "text": str(text)}:
                return (Text(text),)
            case {"type": "image", "source": dict()}:
                return (image_source(object_at(raw, "source"), self.session.left_out),)
            case _:
                self.session.left_out[f"content of type {text_at(raw, 'type')}"] += 1
                return ()

    def _at(self, data: JsonObject) -> None:
        time = data.get("timestamp")
        if isinstance(time, int | float) and 0 < time < _LATEST:
            self._time = time / 1000 if time > _MILLISECONDS else float(time)

    def _add(self, entry: Entry) -> None:
        self.session.entries.append(entry)


def _blocks(data: JsonObject) -> list[JsonObject]:
    return objects_in(data.get("content"))


def _amount(cost: JsonObject, key: str) -> float:
    value = cost.get(key)
    return float(value) if isinstance(value, int | float) else 0.0
