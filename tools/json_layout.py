"""Layout of JSON that is short for models and readable for users."""

from __future__ import annotations

import json
from typing import TypeAlias

from harness.messages import JsonValue

MAX_CHARS = 2_000_000
"""Length above which JSON is returned as received."""
LINE_CHARS = 120
MAX_LEVELS = 20
"""Nesting up to which JSON is laid out on several lines."""
MAX_GROWTH = 3
"""Length of laid-out JSON above which it is returned as received, as a multiple of the received length."""
Block: TypeAlias = "str | list[str]"


class _Number(str):
    """A number as it was written, so that 1.10 stays what it is."""

    __slots__ = ()


def layout(text: str) -> str:
    """Return JSON with short values on one line and one line for each item of longer ones.

    It takes a third of the tokens of indented JSON, and is as readable. Text that is not JSON is returned as it is.
    """
    if len(text) > MAX_CHARS:
        return text
    try:
        value = json.loads(text, parse_float=_Number, parse_int=_Number)
        shown = _shown(_laid_out(value))
    except (ValueError, RecursionError):
        return text
    # Deep nesting costs more in indentation than it helps.
    return shown if len(shown) <= MAX_GROWTH * len(text) else text


def _laid_out(value: JsonValue, level: int = 0) -> Block:
    """Return a value on one line, or as lines if it is longer than `LINE_CHARS` and not nested too deeply."""
    limit = LINE_CHARS if level < MAX_LEVELS else None
    match value:
        case dict():
            parts = [_prefixed(f"{_dumped(name)}: ", _laid_out(item, level + 1)) for name, item in value.items()]
            return _joined(parts, "{", "}", limit)
        case list():
            return _joined([_laid_out(item, level + 1) for item in value], "[", "]", limit)
        case _Number():
            return str(value)
        case _:
            return _dumped(value)


def _dumped(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _prefixed(prefix: str, block: Block) -> Block:
    return prefix + block if isinstance(block, str) else [prefix + block[0], *block[1:]]


def _joined(parts: list[Block], opening: str, closing: str, limit: int | None) -> Block:
    if all(isinstance(part, str) for part in parts):
        inline = opening + ", ".join(map(str, parts)) + closing
        if limit is None or len(inline) <= limit:
            return inline
    lines = [opening]
    for index, part in enumerate(parts):
        own = [part] if isinstance(part, str) else list(part)
        own[-1] += "," if index < len(parts) - 1 else ""
        lines += [f" {line}" for line in own]
    return [*lines, closing]


def _shown(block: Block) -> str:
    return block if isinstance(block, str) else "\n".join(block)
