"""Conversion of dataclasses to JSON and back, for events, views and records.

A dataclass becomes an object tagged by `"type": snake_case_class_name`; fields that are None are omitted. Reading takes
a class or a union of classes and dispatches on the tag. Unknown fields are ignored, so that an older program reads what
a newer one wrote. Written by hand because pydantic must not be imported before the first paint.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from harness.messages import JsonObject, JsonValue

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


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _encode(value: object) -> JsonValue:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
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
    if dataclasses.is_dataclass(hint):
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
    tagged = {tag_of(option): _reader(option) for option in options if dataclasses.is_dataclass(option)}
    plain = [_reader(option) for option in options if option is not type(None) and not dataclasses.is_dataclass(option)]
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
