"""Conversion of structs to JSON and back, for events, views and records.

A struct becomes an object tagged by `"type": snake_case_class_name`; fields that are None are omitted. Reading takes a
class or a union of classes and dispatches on the tag. Unknown fields are ignored, so that an older program reads what a
newer one wrote.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TypeVar, cast

from msgspec import Struct, convert

from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue, Message

T = TypeVar("T")


def encode(value: Struct) -> JsonObject:
    """Return a tagged struct as a JSON object.

    Raises:
        TypeError: The value is not a tagged struct, or contains something that JSON cannot represent.
    """
    tag = value.__struct_config__.tag
    if tag is None:
        raise TypeError(f"{type(value).__name__} has no tag")
    # Not `msgspec.to_builtins`, which cannot omit None alone.
    items = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return {"type": tag} | {name: _encode(item) for name, item in items if item is not None}


def _encode(value: object) -> JsonValue:
    match value:
        case None | str() | int() | float():
            return value
        case Struct():
            return encode(value)
        case tuple() | list():
            # The recursion checks what is inside.
            return [_encode(item) for item in cast("Sequence[object]", value)]
        case dict():
            return {str(key): _encode(item) for key, item in cast("dict[object, object]", value).items()}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be converted to JSON")


def decode(kind: type[T], data: JsonValue) -> T:
    """Return the value that `encode` wrote.

    Args:
        kind: A tagged struct or a union of them.
        data: Decoded JSON.

    Raises:
        ValueError: The data does not match `kind`.
    """
    return convert(data, kind)


def decode_or_none(kind: type[T], data: JsonValue) -> T | None:
    """Return the value that `encode` wrote, or None if the data does not match `kind`."""
    if data is None:
        # An exception takes longer, and long sessions have thousands of absent values.
        return None
    try:
        return decode(kind, data)
    except ValueError:
        return None


MAX_DEPTH = 100
"""Maximum nesting of arguments; deeper values can be neither validated nor serialized."""

TOO_DEEP = f"they are nested deeper than {MAX_DEPTH} levels"


def parsed_arguments(written: str) -> JsonObject:
    """Parse the arguments of a call.

    Raises:
        ValueError: They are not a JSON object; the text is part of a sentence.
    """
    try:
        parsed: JsonValue = json.loads(written, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    if not isinstance(parsed, dict):
        raise ValueError("they are not an object")
    if written.count("[") + written.count("{") > MAX_DEPTH and _depth(parsed) > MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    return parsed


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a valid JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _depth(value: JsonValue) -> int:
    """Return the nesting depth of lists and objects."""
    depth, level = 0, [value]
    while level:
        inner: list[JsonValue] = []
        for each in level:
            inner.extend(each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        depth, level = depth + 1, inner
    return depth


def dump_messages(messages: Sequence[Message]) -> str:
    """Return a JSON array of messages, each as `harness.codec` writes it."""
    return json.dumps([encode(message) for message in messages], ensure_ascii=False)


def load_messages(text: str) -> list[Message]:
    """Return the messages that `dump_messages` wrote.

    Raises:
        ConfigError: The text has another format.
    """
    try:
        return convert(json.loads(text), list[Message])
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not a list of saved messages: {error}") from error
