"""Arguments that pydantic checks: their schema as a model is shown it, and what is wrong with them in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from harness.function_tools.validation_errors import Path, place, short, unknown_property
from harness.messages import JsonObject, JsonValue

UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
# What stands there is a value, and not a part of the schema.
VALUES = ("default", "const", "enum", "examples")
_DEFS = "#/$defs/"


def shown_schema(schema: JsonObject) -> JsonObject:
    """A schema that pydantic wrote, without what it repeats.

    Each field's name is there as a title, too, which models pay for; parts are referred to, which some services
    reject. Only what contains itself stays a reference.
    """
    parts = _mapping(schema.get("$defs"))
    endless = {name for name in parts if name in _reached(parts[name], parts)}
    root: JsonObject = {key: value for key, value in schema.items() if key != "$defs"}
    named = _referred(root)
    if named in endless:
        root = {**_mapping(parts[named]), **{key: value for key, value in root.items() if key != "$ref"}}
    inlined = {name: part for name, part in parts.items() if name not in endless}
    shown = _shown(root, inlined)
    if endless:
        shown["$defs"] = {name: _shown(parts[name], inlined) for name in parts if name in endless}
    return shown


def unwrap_strings(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """Several models send an array or object as a string of JSON; take it where the property is no string."""
    properties = _mapping(schema.get("properties"))
    return {key: _unwrapped(properties.get(key), value) for key, value in arguments.items()}


def problems_in(error: ValidationError, schema: JsonObject, within: Path = ()) -> tuple[str, ...]:
    """What pydantic found wrong with a value of this schema, which stands at `within` in what was sent."""
    problems: list[str] = []
    for item in error.errors(include_url=False):
        path = (*within, *item["loc"])
        if item["type"] in UNKNOWN:
            problems.append(unknown_property(path, _properties_at(schema, item["loc"][:-1])))
        else:
            problems.append(f"{place(path)}: {short(item['msg'])}")
    return tuple(problems)


def _properties_at(schema: JsonObject, path: Path) -> Iterator[str]:
    part: JsonValue = schema
    for step in path:
        inside = _mapping(part)
        part = inside.get("items") if isinstance(step, int) else _mapping(inside.get("properties")).get(step)
    yield from _mapping(_mapping(part).get("properties"))


def _unwrapped(part: JsonValue, value: JsonValue) -> JsonValue:
    if part is None or not isinstance(value, str):
        return value
    is_container = isinstance(part, dict) and part.get("type") in ("array", "object")
    looks_so = value.lstrip()[:1] in ("[", "{")
    if (is_container and looks_so) or "string" not in json.dumps(part):
        return _parsed(value)
    return value


def _parsed(value: str) -> JsonValue:
    try:
        parsed: JsonValue = json.loads(value)
    except ValueError:
        return value
    return parsed


def _shown(part: JsonValue, inlined: Mapping[str, JsonValue]) -> JsonObject:
    schema = _mapping(part)
    named = _referred(schema)
    if named in inlined:
        schema = {**_mapping(inlined[named]), **{key: value for key, value in schema.items() if key != "$ref"}}
        return _shown(schema, inlined)
    shown: JsonObject = {}
    for key, value in schema.items():
        if key == "properties":
            shown[key] = {name: _shown(each, inlined) for name, each in _mapping(value).items()}
        elif key != "title":
            shown[key] = value if key in VALUES else _inside(value, inlined)
    return shown


def _inside(value: JsonValue, inlined: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return _shown(value, inlined)
    if isinstance(value, list):
        return [_inside(each, inlined) for each in value]
    return value


def _reached(part: JsonValue, parts: Mapping[str, JsonValue]) -> set[str]:
    """The names of all parts that a part leads to."""
    reached: set[str] = set()
    waiting: list[JsonValue] = [part]
    while waiting:
        match waiting.pop():
            case dict() as each:
                named = _referred(each)
                if named and named not in reached:
                    reached.add(named)
                    waiting.append(parts.get(named))
                waiting.extend(each.values())
            case list() as each:
                waiting.extend(each)
            case _:
                pass
    return reached


def _referred(schema: JsonObject) -> str:
    reference = schema.get("$ref")
    return reference.removeprefix(_DEFS) if isinstance(reference, str) and reference.startswith(_DEFS) else ""


def _mapping(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
