"""Output schema for Chat Completions; pure.

Only a schema that follows certain rules is enforced ("strict"), and one that breaks them would be rejected as strict;
it is sent as a hint instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import JsonObject, JsonValue
from harness.ports.provider import OutputSchema
from providers.wire.encoding import safe_name

STRICT_KEYWORDS = frozenset(
    (
        *("type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    )
)


def named_schema(output: OutputSchema) -> JsonObject:
    """Return a schema with its name, as both of OpenAI's APIs take it."""
    return {"name": safe_name(output.name), "schema": output.schema, "strict": is_strict(output.schema)}


def is_strict(schema: JsonObject) -> bool:
    """Return True if the service can enforce the schema: all objects are closed and all their properties required."""
    return schema.get("type") == "object" and all(_fits(part) for part in _parts(schema))


def _fits(part: JsonValue) -> bool:
    if not isinstance(part, dict) or not part.keys() <= STRICT_KEYWORDS:
        return False
    if part.get("type") != "object" and "properties" not in part:
        # A part without a type would allow anything.
        return bool(part.keys() & {"type", "enum", "const", "anyOf", "$ref"})
    properties, required = part.get("properties"), part.get("required", [])
    return (
        isinstance(properties, dict)
        and isinstance(required, list)
        and set(properties) == {str(name) for name in required}
        and part.get("additionalProperties") is False
    )


def _parts(schema: JsonValue) -> Iterator[JsonValue]:
    """Yield the schema and every schema in it."""
    yield schema
    if not isinstance(schema, dict):
        return
    for key in ("properties", "$defs", "definitions"):
        named = schema.get(key)
        for part in named.values() if isinstance(named, dict) else ():
            yield from _parts(part)
    listed = schema.get("anyOf")
    for part in [*(listed if isinstance(listed, list) else ()), *([schema["items"]] if "items" in schema else ())]:
        yield from _parts(part)
