"""Validation by JSON Schema, and the description of validation errors for models.

Supports Draft 2020-12, or the draft that `$schema` names. References are never fetched, and formats are not checked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct

from harness.errors import ConfigError, InvalidArguments
from harness.messages import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

MAX_FOUND = 50
"""Maximum number of issues to look for."""
MAX_LISTED = 5
"""Maximum number of issues to list for the model."""


class Checker:
    """Validator of one schema, compiled at its first use. `name` identifies the schema in error texts.

    Properties that the schema neither names nor forbids are accepted, as the standard requires.
    """

    def __init__(self, name: str, schema: JsonObject) -> None:
        self._name = name
        self._schema = schema

    def check(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments of a call, with defaults of top-level properties filled in.

        Raises:
            InvalidArguments: The arguments do not fit the schema; the text lets the model correct the call.
            ConfigError: As for `problems`.
        """
        found = self.problems(arguments)
        if found:
            raise InvalidArguments(validation_message(self._name, found))
        return arguments | _defaults(self._schema, arguments)

    def problems(self, value: JsonValue) -> tuple[str, ...]:
        """Return the issues of a value; empty if it is valid.

        Raises:
            ConfigError: The schema is invalid, or refers to something it does not contain.
        """
        validator = self._validator
        # Imported late with jsonschema, which takes 70 ms and which most agents do not need.
        from referencing.exceptions import Unresolvable

        try:
            issues = [_issue(each) for each in islice(_errors(validator, value), MAX_FOUND)]
        except Unresolvable as error:
            why = f"refers to something it does not contain, and references are not fetched: {error}"
            raise ConfigError(f"the schema of {self._name} {why}") from error
        except RecursionError:
            return ("arguments: nested too deeply to be checked",)
        # Each missing property is an issue of its own that names all of them.
        return tuple(dict.fromkeys(problem for issue in issues for problem in explained(issue)))

    def compile(self) -> None:
        """Compile the schema now instead of at its first use.

        Raises:
            ConfigError: The schema is wrong.
        """
        _ = self._validator

    @cached_property
    def _validator(self) -> Validator:
        try:
            return _compiled(json.dumps(self._schema))
        except ConfigError as error:
            raise ConfigError(f"the schema of {self._name} is invalid: {error}") from error
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"the schema of {self._name} is not JSON: {error}") from error


@lru_cache(maxsize=256)
def _compiled(schema: str) -> Validator:
    """Return the validator of a schema given as JSON; cached, because tools are recreated with equal schemas."""
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY  # pyright: ignore[reportMissingTypeStubs] it has none

    parsed: JsonValue = json.loads(schema)
    if not isinstance(parsed, dict):
        raise ConfigError("it must be an object")
    kind = validator_for(parsed, default=Draft202012Validator)
    try:
        kind.check_schema(parsed)
    except SchemaError as error:
        where = place(error.absolute_path) if error.absolute_path else "schema"
        raise ConfigError(f"{where}: {short(error.message)}") from error
    # Without this registry, which contains only the drafts, references would be fetched.
    return kind(parsed, registry=REGISTRY)


def _defaults(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return {
        name: copy.deepcopy(part["default"])
        for name, part in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(part, dict) and "default" in part and name not in arguments
    }


def _errors(validator: Validator, value: JsonValue) -> Iterator[ValidationError]:
    # The stub has no type for the value.
    return validator.iter_errors(value)  # pyright: ignore[reportUnknownMemberType]


def _issue(error: ValidationError) -> ValidationIssue:
    branches: dict[str | int, list[ValidationIssue]] = {}
    for each in error.context or ():
        branches.setdefault(each.schema_path[0], []).append(_issue(each))
    # The casts: schema and value were JSON, which the types of the library do not express.
    return ValidationIssue(
        path=tuple(error.absolute_path),
        rule=str(error.validator),
        wanted=cast(JsonValue, error.validator_value),
        found=cast(JsonValue, error.instance),
        schema=cast(JsonObject, error.schema) if isinstance(error.schema, dict) else {},
        message=error.message,
        branches=tuple(tuple(issues) for issues in branches.values()),
    )


_MAX_VALUE_CHARS = 60
_MAX_MESSAGE_CHARS = 200
_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}

Path: TypeAlias = tuple[str | int, ...]


class ValidationIssue(Struct, frozen=True):
    """Violation of one rule of a schema."""

    path: Path
    """Location of the value."""
    rule: str
    """Name of the rule, such as `type`."""
    wanted: JsonValue
    """Value of the rule."""
    found: JsonValue
    """Value that violates it."""
    schema: JsonObject
    """Part of the schema that contains the rule."""
    message: str
    """Message of the validator."""
    branches: tuple[tuple[ValidationIssue, ...], ...] = ()
    """Issues for each alternative of the schema."""


def validation_message(name: str, problems: Sequence[str]) -> str:
    """Return the error text for a call with invalid arguments."""
    return f"The arguments of {name} do not fit its schema:\n{as_list(problems)}\nSend the call again, corrected."


def as_list(problems: Sequence[str]) -> str:
    """List the first problems, one per line: a model fixes a few at a time, and others often follow from them."""
    lines = [f"- {problem}" for problem in problems[:MAX_LISTED]]
    if len(problems) > MAX_LISTED:
        lines.append(f"- and {len(problems) - MAX_LISTED} more")
    return "\n".join(lines)


def place(path: Iterable[str | int]) -> str:
    """Return a location as text: `items[2].name`; `arguments` for the whole value."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "arguments"


def unknown_property(path: Path, known: Iterable[str]) -> str:
    """Describe an unknown property."""
    names = list(known)
    close = get_close_matches(str(path[-1]), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}" if names else "leave it out"
    return f"{place(path)}: unknown property; {hint}"


def explained(issue: ValidationIssue) -> Iterator[str]:
    """Describe one issue, without quoting long values."""
    where, found = place(issue.path), _shown(issue.found)
    match issue.rule, issue.wanted:
        case "required", list(names) if isinstance(issue.found, dict):
            missing = ", ".join(str(name) for name in names if name not in issue.found)
            yield f"{where}: required and missing: {missing}"
        case "additionalProperties", False:
            known = issue.schema.get("properties")
            for name in _unknown_names(issue):
                yield unknown_property((*issue.path, name), known if isinstance(known, dict) else ())
        case "type", wanted:
            kinds = wanted if isinstance(wanted, list) else [wanted]
            yield f"{where}: must be {' or '.join(map(str, kinds))}, not {_kind(issue.found)} {found}"
        case "enum" | "const", _:
            choice = "one of " if issue.rule == "enum" else ""
            yield f"{where}: must be {choice}{', '.join(map(_shown, _values(issue)))}, not {found}"
        case "minLength" | "minItems" | "maxLength" | "maxItems", limit if isinstance(issue.found, str | list):
            bound = "least" if issue.rule.startswith("min") else "most"
            yield f"{where}: length must be at {bound} {limit}, not {len(issue.found)}"
        case "anyOf" | "oneOf", list(forms):
            yield from _alternatives(issue, forms)
        case _:
            yield f"{where}: {short(issue.message)}"


def short(message: str) -> str:
    """Truncate a message that may quote a value."""
    return message if len(message) <= _MAX_MESSAGE_CHARS else message[:_MAX_MESSAGE_CHARS] + "…"


def _unknown_names(issue: ValidationIssue) -> Iterator[str]:
    known = issue.schema.get("properties")
    has_patterns = bool(issue.schema.get("patternProperties"))
    for name in issue.found if isinstance(issue.found, dict) else ():
        # With patterns, only the message says which names do not match.
        if name not in (known if isinstance(known, dict) else ()) and (not has_patterns or repr(name) in issue.message):
            yield name


def _alternatives(issue: ValidationIssue, forms: Sequence[JsonValue]) -> Iterator[str]:
    """Describe the issues for the alternative that the value resembles most; all alternatives if it resembles none."""
    if not issue.branches:
        yield f"{place(issue.path)}: fits more than one of its forms and must fit exactly one"
        return
    nearest = min(issue.branches, key=lambda branch: _distance(branch, issue.path))
    tags = [each for branch in issue.branches for each in branch if _is_tag(each, len(issue.path) + 1)]
    match _distance(nearest, issue.path)[0]:
        case 2:
            wanted = dict.fromkeys(map(_form, forms))
            yield f"{place(issue.path)}: must be {' or '.join(wanted)}, not {_kind(issue.found)} {_shown(issue.found)}"
        case 1 if len({each.path for each in tags}) == 1:
            wanted = dict.fromkeys(map(_shown, (value for each in tags for value in _values(each))))
            yield f"{place(tags[0].path)}: must be {' or '.join(wanted)}, not {_shown(tags[0].found)}"
        case _:
            for each in nearest:
                yield from explained(each)


def _distance(branch: Sequence[ValidationIssue], path: Path) -> tuple[int, int]:
    """Return the distance of a value from an alternative (2: other type, 1: other tag, 0: issues only), and a count."""
    if any(each.path == path and (each.rule == "type" or _is_tag(each, len(path))) for each in branch):
        return 2, len(branch)
    return int(any(_is_tag(each, len(path) + 1) for each in branch)), len(branch)


def _is_tag(issue: ValidationIssue, depth: int) -> bool:
    """Return True if the issue concerns the tag that distinguishes alternatives."""
    return len(issue.path) == depth and issue.rule in ("enum", "const")


def _values(issue: ValidationIssue) -> Sequence[JsonValue]:
    return issue.wanted if issue.rule == "enum" and isinstance(issue.wanted, list) else [issue.wanted]


def _form(schema: JsonValue) -> str:
    """Describe one alternative in a few words."""
    match schema:
        case {"type": str(kind), "required": [*names]} if names:
            return f"{kind} with {', '.join(map(str, names))}"
        case {"enum": [*values]}:
            return f"one of {', '.join(map(_shown, values))}"
        case {"const": value}:
            return _shown(value)
        case {"type": str(kind)} | {"title": str(kind)} | {"$ref": str(kind)}:
            return kind.rpartition("/")[2]
        case _:
            return "of another form"


def _kind(value: JsonValue) -> str:
    return "null" if value is None else _KINDS.get(type(value), "value")


def _shown(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case dict() | list():
            return "" if len(value) > 5 else _cut(value)
        case _:
            return _cut(value)


def _cut(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else text[:_MAX_VALUE_CHARS] + "…"
