"""Validation errors, described so that a model can correct its call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from msgspec import Struct

from harness.messages import JsonObject, JsonValue

MAX_ISSUES = 5
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
    lines = [f"- {problem}" for problem in problems[:MAX_ISSUES]]
    if len(problems) > MAX_ISSUES:
        lines.append(f"- and {len(problems) - MAX_ISSUES} more")
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
        case "enum", list(values):
            yield f"{where}: must be one of {', '.join(map(_shown, values))}, not {found}"
        case "const", wanted:
            yield f"{where}: must be {_shown(wanted)}, not {found}"
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
