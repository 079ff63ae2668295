"""Output schema for the Messages API; pure.

The service supports a part of JSON Schema and rejects the rest. Rules that it cannot enforce are added to descriptions;
the output is validated locally in any case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from harness.messages import JsonObject, JsonValue

KEPT = ("title", "default", "required")
NAMED = ("$defs", "definitions")
TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
NEVER = frozenset(("allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"))


class UnsupportedSchema(Exception):
    """The schema contains something that the service cannot express."""


def output_format(schema: JsonObject) -> JsonObject | None:
    """Return the output format for a schema; None if the service cannot express it."""
    try:
        _refuse_cycles(schema)
        named = {key: _each(schema[key]) for key in NAMED if key in schema}
        root = {key: value for key, value in schema.items() if key not in NAMED}
        return {"type": "json_schema", "schema": {**_narrowed(root), **named}}
    except UnsupportedSchema:
        return None


def _narrowed(part: JsonValue) -> JsonObject:
    """Return a part of the schema in the supported subset, at least as narrow except for rules moved to its
    description."""
    if not isinstance(part, dict) or NEVER & part.keys():
        raise UnsupportedSchema
    if "$ref" in part:
        return {"$ref": part["$ref"]}
    kinds = part.get("type")
    if isinstance(kinds, list):
        return {"anyOf": [_narrowed({**part, "type": kind}) for kind in kinds]}
    narrowed = _chosen(part) | (_typed(kinds, part) if isinstance(kinds, str) else {})
    if not narrowed:
        raise UnsupportedSchema
    narrowed |= {key: part[key] for key in KEPT if key in part}
    return narrowed | _described(part, narrowed)


def _typed(kind: str, part: JsonObject) -> JsonObject:
    if kind not in TYPES or (kind == "array" and "items" not in part):
        raise UnsupportedSchema
    if kind == "object":
        return _closed(part)
    narrowed: JsonObject = {"type": kind}
    if kind == "array":
        narrowed["items"] = _narrowed(part["items"])
        if part.get("minItems") in (0, 1):
            narrowed["minItems"] = part["minItems"]
    elif part.get("format") in FORMATS:
        narrowed["format"] = part["format"]
    return narrowed


def _chosen(part: JsonObject) -> JsonObject:
    chosen = {key: part[key] for key in ("enum", "const") if key in part}
    for value in chosen.values():
        if any(isinstance(each, list | dict) for each in (value if isinstance(value, list) else [value])):
            raise UnsupportedSchema
    either = part.get("anyOf", part.get("oneOf"))
    return {**chosen, "anyOf": [_narrowed(each) for each in either]} if isinstance(either, list) else chosen


def _closed(part: JsonObject) -> JsonObject:
    """Return an object schema without additional properties; maps with arbitrary keys are not supported."""
    properties = part.get("properties")
    others = part.get("additionalProperties", properties is None)
    if not isinstance(properties, dict) or others not in (False, True) or (others is True and not properties):
        raise UnsupportedSchema
    return {"type": "object", "properties": _each(properties), "additionalProperties": False}


def _described(part: JsonObject, narrowed: JsonObject) -> JsonObject:
    """Return the description with the rules that were left out."""
    known = {"oneOf", "description", "additionalProperties", "$schema", "$id", *narrowed}
    rules = {key: value for key, value in part.items() if key not in known}
    words = [str(part["description"])] if part.get("description") else []
    if rules:
        words.append("Rules: " + ", ".join(f"{key} {json.dumps(value)}" for key, value in rules.items()))
    return {"description": "\n".join(words)} if words else {}


def _each(named: JsonValue) -> JsonObject:
    if not isinstance(named, dict):
        raise UnsupportedSchema
    return {name: _narrowed(part) for name, part in named.items()}


def _refuse_cycles(schema: JsonObject) -> None:
    """Raise unless every reference leads to a part of the schema and none is recursive."""
    named = {key: value for key, value in schema.items() if key in NAMED and isinstance(value, dict)}
    parts = {f"#/{key}/{name}": part for key, value in named.items() for name, part in value.items()}
    _follow({key: value for key, value in schema.items() if key not in NAMED}, parts, ())


def _follow(part: JsonValue, parts: Mapping[str, JsonValue], path: tuple[str, ...]) -> None:
    if isinstance(part, dict) and isinstance(ref := part.get("$ref"), str):
        if ref not in parts or ref in path:
            raise UnsupportedSchema
        _follow(parts[ref], parts, (*path, ref))
    for child in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _follow(child, parts, path)
