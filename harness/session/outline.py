"""Outlines of messages: the same structure with short texts, kept in memory for messages that stay on disk."""

from __future__ import annotations

from typing import TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import AssistantContent, Message, ModelMessage, Text, Thinking, ToolCall, UserContent

T = TypeVar("T")

LIMIT = 500
"""Characters to which texts are truncated."""
LOST = "[Another program changed the session file: only the beginning of this message is left.]"
_MAX_DEPTH = 8
_Container: TypeAlias = tuple[object, ...] | list[object] | dict[str, object]
_CONTAINERS = (tuple, list, dict)
_SCALARS = frozenset({bool, int, float, type(None)})


def truncate_texts(message: T) -> T:
    """Return the outline of a message."""
    return cast("T", _truncated(message, 0))


def is_intact(message: Message, outline: ModelMessage) -> bool:
    """Return True if a message that was read from the file again is the one that the outline was made of."""
    # A reply has several lines, of which some may be lost.
    return message.id == outline.id and len(getattr(message, "content", ())) == len(outline.content)


def beginning_of(outline: ModelMessage) -> ModelMessage:
    """Return what is left of a message whose lines in the file are lost, with its blocks in their places."""
    content = [_unsigned(block) for block in outline.content]
    # The place of a block identifies its line.
    for place, block in enumerate(content):
        if isinstance(block, Text):
            content[place] = Text(f"{LOST}\n{block.text}")
            break
    else:
        content.append(Text(LOST))
    return replace(outline, content=tuple(content))


def _unsigned(block: AssistantContent | UserContent) -> AssistantContent | UserContent:
    """Return a block without its signature: the service would reject a truncated one."""
    if isinstance(block, Thinking):
        return Thinking(block.text)
    return replace(block, signature=None) if isinstance(block, Text | ToolCall) else block


def _truncated(value: object, depth: int) -> object:
    # Plain checks and loops: a long session has thousands of messages, and `isinstance` is slow for structs.
    if type(value) in _SCALARS:
        return value
    if isinstance(value, str):
        return value if len(value) <= LIMIT else _start_of(value)
    if isinstance(value, _CONTAINERS):
        return _truncated_items(cast("_Container", value), depth)
    if isinstance(value, Struct):
        changed: dict[str, object] = {}
        for name in value.__struct_fields__:
            field = getattr(value, name)
            if type(field) in _SCALARS or (type(field) is str and len(field) <= LIMIT):
                continue
            if (short := _truncated(field, depth + 1)) is not field:
                changed[name] = short
        return replace(value, **changed) if changed else value
    return value


def _truncated_items(value: _Container, depth: int) -> object:
    if depth > _MAX_DEPTH:
        return type(value)()
    if isinstance(value, dict):
        return {key: _truncated(each, depth + 1) for key, each in value.items()}
    items = [_truncated(each, depth + 1) for each in value]
    return items if isinstance(value, list) else tuple(items)


def _start_of(text: str) -> str:
    """Return the start of a text, which must not become blank, since blank texts are removed."""
    start = text[:LIMIT]
    return start if start.strip() else text.strip()[:LIMIT]
