"""Conversion of dataclasses to JSON and back, for events, views and records.

A dataclass becomes an object tagged by `"type": snake_case_class_name`; fields that are None are omitted. Reading takes
a class or a union of classes and dispatches on the tag. Unknown fields are ignored, so that an older program reads what
a newer one wrote. Written by hand because pydantic must not be imported before the first paint.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue, Message

T = TypeVar("T")

_FORMER_TAGS = {"session_trace": "session_record", "run_trace": "loop_record", "child_run_ref": "child_loop_ref"}
"""Current tag → the tag in files written before the rename."""
_FORMER_FIELDS = {
    "loops": "runs",
    "unasked": "non_interactive",
    "loop_id": "run_id",
    "loop_ids": "run_ids",
    "parent_loop_id": "parent_run_id",
    "child_loop_id": "child_run_id",
    "all_loop_ids": "all_run_ids",
    "selected_loop_id": "selected_run_id",
    "children_loop_ids": "children_run_ids",
    "child_loop_refs": "child_run_refs",
}
"""Field in files written before the rename → current field."""


def encode(value: object) -> JsonObject:
    """Return a dataclass instance as a JSON object.

    Raises:
        TypeError: The value is not a dataclass, or contains something that JSON cannot represent.
    """
    encoded = _encode(value)
    if not isinstance(encoded, dict):
        raise TypeError(f"{type(value).__name__} is not a dataclass")
    return encoded


def decode(kind: type[T], data: JsonValue) -> T:
    """Return the value that `encode` wrote.

    Args:
        kind: A dataclass or a union of dataclasses.
        data: Decoded JSON.

    Raises:
        ValueError: The data does not match `kind`.
    """
    return _reader(kind)(data)


@cache
def tag_of(kind: type) -> str:
    """Return the tag of a class: `ToolExecutionEnd` → `tool_execution_end`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


@cache
def _field_names(kind: type[Struct]) -> tuple[str, ...]:
    return kind.__struct_fields__


def _encode(value: object) -> JsonValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Struct):
        encoded: JsonObject = {"type": tag_of(type(value))}
        for name in _field_names(type(value)):
            item = getattr(value, name)
            if item is not None:
                encoded[name] = _encode(item)
        return encoded
    if isinstance(value, tuple | list):
        items: tuple[object, ...] = tuple(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] what is inside is checked by the recursion
        return [_encode(item) for item in items]
    if isinstance(value, dict):
        pairs: dict[object, object] = dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] as above
        return {str(key): _encode(item) for key, item in pairs.items()}
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")


# Type hints have no useful static type, so a reader returns Any.
Reader: TypeAlias = Callable[[JsonValue], Any]


@cache
def _reader(hint: Any) -> Reader:
    origin = get_origin(hint)
    if _is_struct(hint):
        return _dataclass_reader(hint)
    if origin in (Union, types.UnionType):
        return _union_reader(get_args(hint))
    if origin is Literal:
        return _literal_reader(get_args(hint))
    if origin is tuple:
        return _tuple_reader(get_args(hint)[0])
    if origin is dict:
        return _object
    if hint is float:
        return _number
    if hint in (str, int, bool):
        return _exactly(hint)
    return lambda data: data


def _dataclass_reader(kind: Any) -> Reader:
    tag = tag_of(kind)

    def read(data: JsonValue) -> Any:
        if not isinstance(data, dict) or data.get("type", tag) not in (tag, _FORMER_TAGS.get(tag)):
            raise ValueError(f"not a {tag}")
        readers = _field_readers(kind)
        try:
            current = ((_FORMER_FIELDS.get(name, name), item) for name, item in data.items())
            known = {name: readers[name](item) for name, item in current if name in readers}
            return kind(**(_nothing(kind) | known))
        except TypeError as error:
            raise ValueError(f"{tag} lacks a field: {error}") from error

    return read


@cache
def _field_readers(kind: Any) -> dict[str, Reader]:
    hints = get_type_hints(kind)
    return {name: _reader(hints[name]) for name in _field_names(kind)}


@cache
def _nothing(kind: Any) -> dict[str, None]:
    """Return None for each optional field, which writing omits."""
    hints = get_type_hints(kind)
    return {name: None for name in _field_names(kind) if type(None) in get_args(hints[name])}


def _union_reader(options: tuple[Any, ...]) -> Reader:
    tagged = {tag_of(option): _reader(option) for option in options if _is_struct(option)}
    plain = [_reader(option) for option in options if option is not type(None) and not _is_struct(option)]
    may_be_none = type(None) in options

    def read(data: JsonValue) -> Any:
        if data is None and may_be_none:
            return None
        if isinstance(data, dict):
            reader = tagged.get(str(data.get("type")))
            if reader:
                return reader(data)
        for reader in plain:
            try:
                return reader(data)
            except ValueError:
                continue
        raise ValueError(f"none of {', '.join(tagged) or 'the known types'}")

    return read


def _literal_reader(allowed: tuple[Any, ...]) -> Reader:
    def read(data: JsonValue) -> Any:
        if data not in allowed:
            raise ValueError(f"{data!r} is none of {', '.join(map(repr, allowed))}")
        return data

    return read


def _tuple_reader(item: Any) -> Reader:
    reader = _reader(item)

    def read(data: JsonValue) -> Any:
        if not isinstance(data, list):
            raise ValueError("not a list")
        return tuple(reader(value) for value in data)

    return read


def _object(data: JsonValue) -> JsonObject:
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _number(data: JsonValue) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise ValueError(f"{data!r} is not a number")
    return float(data)


def _exactly(kind: Any) -> Reader:
    def read(data: JsonValue) -> Any:
        if type(data) is not kind:
            raise ValueError(f"{data!r} is not of type {kind.__name__}")
        return data

    return read


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
        items = json.loads(text)
        if not isinstance(items, list):
            raise ValueError("not an array")
        # The codec validates the items of the untyped array.
        return [decode(Message, item) for item in items]  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not a list of saved messages: {error}") from error
