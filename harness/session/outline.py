"""Outlines of messages: the same structure with short texts, kept in memory for messages that stay on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import ModelMessage, Text, Thinking, ToolCall

T = TypeVar("T")

LIMIT = 500
"""Characters to which texts are truncated."""
LOST = "[Another program changed the session file: only the beginning of this message is left.]"
_MAX_DEPTH = 8


def truncate_texts(message: T) -> T:
    """Return the outline of a message."""
    return cast("T", _truncated(message, 0))


def beginning_of(outline: ModelMessage) -> ModelMessage:
    """Return what is left of a message whose line in the file is lost."""
    # Truncated signatures would be rejected by the service.
    kept = [replace(each, signature=None) if isinstance(each, Text | ToolCall) else each for each in outline.content]
    content = (Text(LOST), *(each for each in kept if not isinstance(each, Thinking)))
    return replace(outline, content=content)


def _truncated(value: object, depth: int) -> object:
    match value:
        case str():
            start = value[:LIMIT]
            # A text must not become blank, since blank ones are removed.
            return start if len(value) <= LIMIT or start.strip() else value.strip()[:LIMIT]
        case tuple() | list() | dict() if depth > _MAX_DEPTH:
            return type(cast("Iterable[object]", value))()
        case tuple() | list():
            items = [_truncated(each, depth + 1) for each in cast("Iterable[object]", value)]
            return items if isinstance(value, list) else tuple(items)
        case dict():
            return {key: _truncated(each, depth + 1) for key, each in cast("dict[str, object]", value).items()}
        case Struct():
            fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
            return replace(value, **{name: _truncated(each, depth + 1) for name, each in fields})
        case _:
            return value
