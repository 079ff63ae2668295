"""Schemas of OpenAPI as JSON Schema of Draft 2020-12: valid, self-contained and bounded for any document.

Keywords are copied one by one if they are well-formed. These changes are deliberate:

- `oneOf` becomes `anyOf`: alternatives of real documents overlap, and a valid value must not be rejected because of it.
- `pattern` becomes part of the description: patterns follow ECMA-262, and one could take forever to match.
- `not` and `if` are left out: a condition that is looser than in the document would reject valid values.
- What cannot be resolved, is nested too deeply or is too large allows any value; the service checks it anyway.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import JsonObject, JsonValue
from tools.openapi.documents import Documents, Node, Unresolved
from tools.openapi.schema_size import complete

DEEPEST = 24
"""Maximum nesting of a schema."""
MAX_PARTS = 5_000
"""Maximum number of subschemas of one operation."""
MAX_EXTENDED = 200
"""Maximum number of schemas that one schema extends."""
MAX_DESCRIPTION_CHARS = 400
FILE_HINT = "Path of a file in the workspace."

_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}


class _Branch(Struct, frozen=True):
    """Part of a schema that is being converted."""

    depth: int = 0
    """Nesting."""
    merging: tuple[str, ...] = ()
    """References that are being replaced by what they name, for the same value."""
    outer: tuple[str, ...] = ()
    """The same for the values that contain it."""
    with_files: bool = False
    """True if a binary value is given as the path of a file."""


class SchemaWriter:
    """Converter of the schemas of one operation, which share their definitions."""

    def __init__(self, documents: Documents, *, is_legacy: bool) -> None:
        """Create a writer.

        Args:
            documents: The documents.
            is_legacy: True for OpenAPI 3.0, whose schemas are not JSON Schema: `nullable`, no siblings of `$ref`.
        """
        self._documents = documents
        self._is_legacy = is_legacy
        self._parts = 0
        self._names: dict[tuple[str, bool], str] = {}
        self._definitions: dict[str, JsonObject] = {}
        self._pending: list[tuple[str, Node, _Branch]] = []

    def convert(self, schema: Node, *, with_files: bool = False) -> JsonObject:
        """Return a schema; what it refers to is added to the definitions.

        Args:
            schema: A schema in a document.
            with_files: True if a binary value is given as the path of a file.
        """
        written = self._convert(schema, _Branch(with_files=with_files))
        # One after another: references may form chains longer than the stack.
        while self._pending:
            name, target, branch = self._pending.pop()
            self._definitions[name] = self._convert(target, branch)
        return written

    def complete(self, root: JsonObject) -> JsonObject:
        """Return a schema with the definitions that it uses, within a length that models can be shown."""
        return complete(root, self._definitions)

    def _convert(self, schema: Node, branch: _Branch) -> JsonObject:
        self._parts += 1
        if branch.depth > DEEPEST or self._parts > MAX_PARTS or not isinstance(schema.value, dict):
            return {"not": {}} if schema.value is False else {}
        if schema.text("$ref"):
            return self._reference(schema, branch)
        written: JsonObject = {
            name: value
            for name, keyword in _KEYWORDS.items()
            if name in schema.value and (value := keyword(schema.value[name])) is not None
        }
        self._add_subschemas(schema, written, branch)
        _add_description(schema, written)
        if branch.with_files and is_binary(schema):
            written = {"type": "string", "description": _joined(FILE_HINT, schema.text("description"))}
        if self._is_legacy:
            _modernize(schema.value, written)
        # Those of a schema that another one extends are among the properties of that one.
        hidden = self._read_only(schema) if not branch.merging else set[str]()
        return self._combined(schema, _without(written, hidden), branch, hidden)

    def _reference(self, schema: Node, branch: _Branch) -> JsonObject:
        try:
            target = self._documents.follow(schema)
        except Unresolved:
            return {}
        named = (target.key, branch.with_files)
        if named not in self._names:
            self._names[named] = name = self._new_name(target.key)
            self._definitions[name] = {}
            self._pending.append((name, target, _Branch(with_files=branch.with_files)))
        siblings = {name: value for name, value in schema.mapping.items() if name != "$ref"}
        if self._is_legacy:
            siblings = {name: value for name, value in siblings.items() if name == "description"}
        rest = self._convert(Node(siblings, schema.base), _deeper(branch)) if siblings else {}
        return {"$ref": f"#/$defs/{self._names[named]}", **rest}

    def _new_name(self, key: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", key.rpartition("/")[2])[:60] or "schema"
        name, number = plain, 2
        while name in self._definitions:
            name, number = f"{plain}_{number}", number + 1
        return name

    def _add_subschemas(self, schema: Node, written: JsonObject, branch: _Branch) -> None:
        deeper = _deeper(branch)
        for name in ("items", "additionalProperties", "contains", "propertyNames"):
            part = schema.get(name)
            if isinstance(part.value, bool):
                written[name] = part.value
            elif isinstance(part.value, dict):
                written[name] = self._convert(part, deeper)
        for name in ("properties", "dependentSchemas"):
            if schema.get(name).mapping:
                written[name] = {key: self._convert(each, deeper) for key, each in schema.get(name).each()}
        if "patternProperties" in schema.mapping and written.get("additionalProperties") is False:
            del written["additionalProperties"]
        if items := [self._convert(each, deeper) for each in schema.get("prefixItems").items()]:
            written["prefixItems"] = [*items]

    def _combined(self, schema: Node, written: JsonObject, branch: _Branch, hidden: set[str]) -> JsonObject:
        """Return a schema with its alternatives, and merged with the schemas that it extends."""
        alternatives: list[JsonObject] = []
        for name in ("anyOf", "oneOf"):
            if forms := [self._form(each, schema, branch) for each in schema.get(name).items()]:
                alternatives.append({"anyOf": [*forms]})
        if alternatives:
            written.update(alternatives.pop(0))
        if not isinstance(schema.value, dict) or "discriminator" in schema.value:
            _name_tags(schema, written)
        extended = list(schema.get("allOf").items())[:MAX_EXTENDED]
        if len(extended) == 1 and extended[0].text("$ref") and not written.keys() - {"description", "default"}:
            # Not merged: it is the usual way to describe or reuse one schema, and may lead back to this one.
            written |= self._reference(extended.pop(), branch) | written
        parts = [_without(self._merged(each, branch), hidden) for each in extended]
        written = _all_of([*parts, *alternatives], written)
        return _nullable(written) if self._is_legacy and schema.get("nullable").value is True else written

    def _form(self, form: Node, schema: Node, branch: _Branch) -> JsonObject:
        """Return one alternative, with the value of the discriminator that selects it."""
        written = self._convert(form, _deeper(branch))
        tag, reference = schema.get("discriminator").text("propertyName"), form.text("$ref")
        if not tag or not reference:
            return written
        mapping = schema.get("discriminator", "mapping").mapping
        values = [value for value, target in mapping.items() if _is_same(str(target), reference)]
        named: JsonObject = {"enum": [*values]} if values else {"const": reference.rpartition("/")[2]}
        return {**written, "properties": {tag: named}, "required": [tag]}

    def _merged(self, part: Node, branch: _Branch) -> JsonObject:
        """Return a schema that another one extends, in place of a reference to it unless they form a cycle."""
        try:
            target = self._documents.follow(part)
        except Unresolved:
            return {}
        if not target.key:
            return self._convert(part, _deeper(branch))
        if target.key in branch.merging:
            return {}
        if target.key in branch.outer:
            return self._reference(part, branch)
        return self._convert(target, replace(branch, depth=branch.depth + 1, merging=(*branch.merging, target.key)))

    def _read_only(self, schema: Node) -> set[str]:
        """Return the properties that only responses contain, of a schema and of those that it extends."""
        return {name for name, each in properties_of(self._documents, schema).items() if self._is_read_only(each)}

    def _is_read_only(self, schema: Node) -> bool:
        try:
            return (
                schema.mapping.get("readOnly") is True or self._documents.follow(schema).get("readOnly").value is True
            )
        except Unresolved:
            return False


def properties_of(documents: Documents, schema: Node) -> dict[str, Node]:
    """Return the properties of a schema, also of those that it extends or refers to."""
    found: dict[str, Node] = {}
    for part in extended_by(documents, schema):
        for name, each in part.get("properties").each():
            found.setdefault(name, each)
    return found


def extended_by(documents: Documents, schema: Node) -> Iterator[Node]:
    """Yield a schema with references resolved, and all that it extends."""
    pending, seen = [schema], 0
    while pending and seen < MAX_EXTENDED:
        seen += 1
        try:
            target = documents.follow(pending.pop(0))
        except Unresolved:
            continue
        yield target
        pending += target.get("allOf").items()


def has_binary(documents: Documents, schema: Node) -> bool:
    """Return True if a value, an alternative or an item of a list is bytes."""
    pending, seen = [schema], 0
    while pending and seen < MAX_EXTENDED:
        seen += 1
        for part in extended_by(documents, pending.pop()):
            if is_binary(part):
                return True
            forms = (*part.get("anyOf").items(), *part.get("oneOf").items(), part.get("items"))
            pending += [form for form in forms if form.mapping]
    return False


def is_binary(schema: Node) -> bool:
    """Return True if a schema describes bytes: `format: binary` of 3.0, `contentMediaType` without encoding of 3.1."""
    described = schema.mapping
    if described.get("type", "string") != "string":
        return False
    return described.get("format") == "binary" or (
        "contentMediaType" in described and "contentEncoding" not in described
    )


def _deeper(branch: _Branch) -> _Branch:
    return _Branch(branch.depth + 1, (), (*branch.outer, *branch.merging), branch.with_files)


def _is_same(target: str, reference: str) -> bool:
    """Return True if the target in a mapping, a name or a reference, is that of a reference."""
    return target == reference or ("/" not in target and reference.endswith(f"/{target}"))


def _name_tags(schema: Node, written: JsonObject) -> None:
    """Name the values of a discriminator in a schema that others extend."""
    tag = schema.get("discriminator").text("propertyName")
    values = list(schema.get("discriminator", "mapping").mapping)
    properties = written.get("properties")
    if tag and values and "anyOf" not in written and isinstance(properties, dict):
        written["properties"] = {**properties, tag: {"type": "string", "enum": [*values]}}


def _all_of(parts: Sequence[JsonObject], written: JsonObject) -> JsonObject:
    """Merge schemas that all apply, if they only describe properties; models understand one object best."""
    parts = [part for part in parts if part]
    if not parts:
        return written
    if len(parts) == 1 and not set(parts[0]) & (set(written) - {"description"}):
        return parts[0] | written
    if not all(map(_is_plain, (*parts, written))):
        return {"allOf": [*parts], **written}
    merged: JsonObject = {}
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for part in (*parts, written):
        merged |= part
        own, needed = part.get("properties"), part.get("required")
        properties |= own if isinstance(own, dict) else {}
        required += needed if isinstance(needed, list) else []
    if properties:
        merged["properties"] = properties
    if required:
        merged["required"] = [*dict.fromkeys(map(str, required))]
    return merged


def _is_plain(schema: JsonObject) -> bool:
    mergeable = {"type", "properties", "required", "description", "additionalProperties"}
    kind = schema.get("type", "object")
    return kind == "object" and schema.keys() <= mergeable and schema.get("additionalProperties", True) is not False


def _without(schema: JsonObject, hidden: set[str]) -> JsonObject:
    """Return a schema without some of its properties."""
    kept, properties, required = dict(schema), schema.get("properties"), schema.get("required")
    if hidden and isinstance(properties, dict):
        kept["properties"] = {name: value for name, value in properties.items() if name not in hidden}
    if hidden and isinstance(required, list):
        kept["required"] = [name for name in required if name not in hidden]
    return kept


def _modernize(schema: JsonObject, written: JsonObject) -> None:
    """Express bounds that are exclusive by a flag, as only OpenAPI 3.0 has them."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in written:
            written[exclusive] = written.pop(bound)


def _nullable(written: JsonObject) -> JsonObject:
    """Allow null, as `nullable` of OpenAPI 3.0 does."""
    match written:
        case {"type": str() as kind}:
            values = written.get("enum")
            also: JsonObject = {"enum": [*values, None]} if isinstance(values, list) and None not in values else {}
            return {**written, "type": [kind, "null"], **also}
        case {"anyOf": list() as forms} if "$ref" not in written:
            return {**written, "anyOf": [*forms, {"type": "null"}]}
        case {"$ref": _} | {"allOf": _}:
            description = {"description": written.pop("description")} if "description" in written else {}
            return {"anyOf": [written, {"type": "null"}], **description}
        case _:
            return written


def _add_description(schema: Node, written: JsonObject) -> None:
    text = " ".join(schema.text("description").split())
    pattern = schema.text("pattern")
    if pattern and len(pattern) <= 200:
        text = _joined(text, f"Pattern: {pattern}")
    if text:
        written["description"] = text[: MAX_DESCRIPTION_CHARS - 1] + "…" if len(text) > MAX_DESCRIPTION_CHARS else text


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def _count(value: JsonValue) -> JsonValue:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_finite(value: JsonValue) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _number(value: JsonValue) -> JsonValue:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value) else None


def _step(value: JsonValue) -> JsonValue:
    # Not a fraction: rounding would make multiples of 0.01 fail.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _kind(value: JsonValue) -> JsonValue:
    kinds = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    known = [*dict.fromkeys(each for each in kinds if each in _TYPES)]
    return (known[0] if not isinstance(value, list) else [*known]) if known and len(known) == len(kinds) else None


def _values(value: JsonValue) -> JsonValue:
    return [each for each in value if _is_finite(each)] or None if isinstance(value, list) else None


def _names(value: JsonValue) -> JsonValue:
    return [*dict.fromkeys(each for each in value if isinstance(each, str))] if isinstance(value, list) else None


def _short(value: JsonValue) -> JsonValue:
    try:
        return value if len(json.dumps(value, allow_nan=False)) <= 200 else None
    except ValueError:
        return None


_KEYWORDS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "type": _kind,
    "enum": _values,
    "const": _short,
    "format": lambda value: value if isinstance(value, str) else None,
    "default": _short,
    "required": _names,
    "multipleOf": _step,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    "uniqueItems": lambda value: True if value is True else None,
}
"""Keywords that are copied, each with a function that returns None for a value that is not well-formed."""
