"""Length of schemas: definitions that are used once replace their reference, and what is too long loses detail."""

from __future__ import annotations

import json
from collections.abc import Iterator

from harness.messages import JsonObject, JsonValue

MAX_CHARS = 12_000
"""Length of a schema as JSON above which descriptions and then levels are left out."""
MAX_ENUM = 40
"""Number of values above which a schema that is too long names only some."""
_SHORT_DESCRIPTION = 100
_LEVELS = (8, 6, 4, 3, 2)
_MAX_PARTS = 1_500
_MAX_INLINED = 200

_ONE = ("items", "additionalProperties", "contains", "propertyNames")
_NAMED = ("properties", "dependentSchemas")
_SEVERAL = ("anyOf", "allOf", "prefixItems")


class _TooLong(Exception):
    """A schema has too many parts."""


def complete(root: JsonObject, definitions: dict[str, JsonObject]) -> JsonObject:
    """Return a schema with the definitions that it uses.

    Args:
        root: The schema; references in it have the form `#/$defs/name`.
        definitions: Definitions by name.
    """
    try:
        whole = _with_definitions(root, definitions)
        for length in (None, _SHORT_DESCRIPTION, 0):
            shorter = whole if length is None else _object(_with_short_descriptions(whole, length))
            if len(json.dumps(shorter)) <= MAX_CHARS:
                return shorter
    except RecursionError:
        # A chain of definitions longer than the stack.
        pass
    for levels in _LEVELS:
        try:
            shorter = _Shrinker(definitions).shrink(root, levels)
        except _TooLong:
            continue
        if len(json.dumps(shorter)) <= MAX_CHARS:
            return shorter
    return {**root, "properties": {name: {} for name in _object(root.get("properties"))}}


def _with_definitions(root: JsonObject, definitions: dict[str, JsonObject]) -> JsonObject:
    """Add the definitions that are used: in place of the reference if there is one only, and it forms no cycle."""
    uses: dict[str, int] = {}
    order: list[str] = []
    pending: list[JsonObject] = [root]
    while pending:
        for name in _references(pending.pop(), definitions):
            uses[name] = uses.get(name, 0) + 1
            if uses[name] == 1:
                order.append(name)
                pending.append(definitions[name])
    # The search for cycles takes long if there are many, and so would reading them.
    candidates = order if len(order) <= _MAX_INLINED else ()
    once = {name for name in candidates if uses[name] == 1 and not _contains_itself(name, definitions)}
    written = _object(_inline(root, definitions, once))
    kept: JsonObject = {name: _inline(definitions[name], definitions, once) for name in order if name not in once}
    return {**written, "$defs": kept} if kept else written


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _contains_itself(name: str, definitions: dict[str, JsonObject]) -> bool:
    seen: set[str] = set()
    pending = [name]
    while pending:
        for other in _references(definitions[pending.pop()], definitions):
            if other == name:
                return True
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return False


def _references(schema: JsonValue, definitions: dict[str, JsonObject]) -> Iterator[str]:
    """Yield the names of definitions that a schema refers to."""
    pending: list[JsonValue] = [schema]
    while pending:
        match pending.pop():
            case dict() as node:
                name = _name_in(node)
                if name in definitions:
                    yield name
                pending += node.values()
            case list() as items:
                pending += items
            case _:
                pass


def _name_in(schema: JsonObject) -> str:
    reference = schema.get("$ref")
    return reference.removeprefix("#/$defs/") if isinstance(reference, str) else ""


def _inline(value: JsonValue, definitions: dict[str, JsonObject], names: set[str]) -> JsonValue:
    match value:
        case dict() if _name_in(value) in names:
            whole = _object(_inline(definitions[_name_in(value)], definitions, names))
            rest = {key: _inline(each, definitions, names) for key, each in value.items() if key != "$ref"}
            is_clashing = whole.keys() & rest.keys() - {"description", "default"}
            return {**rest, "allOf": [whole]} if is_clashing else {**whole, **rest}
        case dict():
            return {key: _inline(each, definitions, names) for key, each in value.items()}
        case list():
            return [_inline(each, definitions, names) for each in value]
        case _:
            return value


def _with_short_descriptions(value: JsonValue, length: int) -> JsonValue:
    match value:
        case dict():
            shorter = {key: _with_short_descriptions(each, length) for key, each in value.items()}
            # A property may have that name.
            if isinstance(text := shorter.get("description"), str):
                shorter["description"] = f"{text[: length - 1]}…" if len(text) > length else text
                if not length:
                    del shorter["description"]
            return shorter
        case list():
            return [_with_short_descriptions(each, length) for each in value]
        case _:
            return value


class _Shrinker:
    """Copies a schema to a limited depth, without definitions and descriptions."""

    def __init__(self, definitions: dict[str, JsonObject]) -> None:
        self._definitions = definitions
        self._parts = 0

    def shrink(self, schema: JsonValue, levels: int) -> JsonObject:
        """Return the schema to that depth.

        Raises:
            _TooLong: It has too many parts.
        """
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise _TooLong
        if not isinstance(schema, dict):
            return {}
        if (name := _name_in(schema)) in self._definitions:
            schema = {**self._definitions[name], **schema}
        shorter = {key: value for key, value in schema.items() if key not in _OMITTED}
        values = shorter.get("enum")
        if isinstance(values, list) and len(values) > MAX_ENUM:
            del shorter["enum"]
            shorter["description"] = f"One of {len(values)} values, such as {json.dumps(values[:5])[1:-1]}"
        if levels:
            self._add_parts(schema, shorter, levels - 1)
        return shorter

    def _add_parts(self, schema: JsonObject, shorter: JsonObject, levels: int) -> None:
        for name in _ONE:
            if isinstance(part := schema.get(name), bool):
                shorter[name] = part
            elif isinstance(part, dict):
                shorter[name] = self.shrink(part, levels)
        for name in _NAMED:
            if parts := _object(schema.get(name)):
                shorter[name] = {key: self.shrink(part, levels) for key, part in parts.items()}
        for name in _SEVERAL:
            if isinstance(parts := schema.get(name), list):
                shorter[name] = [self.shrink(part, levels) for part in parts]


_OMITTED = {"$ref", "description", *_ONE, *_NAMED, *_SEVERAL}
