"""What is wrong with a value, in words from which a model can correct itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue

MAX_ISSUES = 5
_LONGEST_VALUE = 60
_LONGEST_MESSAGE = 200
_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ValidationIssue:
    """A rule of a schema that a value breaks: at `path` there is `found` where `rule` wants `wanted`.

    `schema` is the part of the schema that has the rule, `branches` are the faults by each of several forms.
    """

    path: Path
    rule: str
    wanted: JsonValue
    found: JsonValue
    schema: JsonObject
    message: str
    branches: tuple[tuple[ValidationIssue, ...], ...] = ()


def validation_message(name: str, problems: Sequence[str]) -> str:
    """Why a call cannot run, for the model that sent it."""
    return f"The arguments of {name} do not fit its schema:\n{as_list(problems)}\nSend the call again, corrected."


def as_list(problems: Sequence[str]) -> str:
    """The first problems, one a line: a model mends a few at a time, and the rest often follows from them."""
    lines = [f"- {problem}" for problem in problems[:MAX_ISSUES]]
    if len(problems) > MAX_ISSUES:
        lines.append("- and more of the kind")
    return "\n".join(lines)


def place(path: Iterable[str | int]) -> str:
    """Where in a value: `items[2].name`; `arguments` for all of it."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "arguments"


def unknown_property(path: Path, known: Iterable[str]) -> str:
    """The problem of a property that there is not."""
    names = list(known)
    close = get_close_matches(str(path[-1]), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}" if names else "leave it out"
    return f"{place(path)}: there is no such property; {hint}"


def explained(fault: ValidationIssue) -> Iterator[str]:
    """The problems of one fault; none of them tells a whole value that is long."""
    where, found = place(fault.path), _shown(fault.found)
    match fault.rule, fault.wanted:
        case "required", list(names) if isinstance(fault.found, dict):
            missing = ", ".join(str(name) for name in names if name not in fault.found)
            yield f"{where}: required and missing: {missing}"
        case "additionalProperties", False:
            known = fault.schema.get("properties")
            for name in _unknown(fault):
                yield unknown_property((*fault.path, name), known if isinstance(known, dict) else ())
        case "type", wanted:
            kinds = wanted if isinstance(wanted, list) else [wanted]
            yield f"{where}: must be {' or '.join(map(str, kinds))}, not {_kind(fault.found)} {found}"
        case "enum", list(values):
            yield f"{where}: must be one of {', '.join(map(_shown, values))}, not {found}"
        case "const", wanted:
            yield f"{where}: must be {_shown(wanted)}, not {found}"
        case "anyOf" | "oneOf", list(forms):
            yield from _of_several(fault, forms)
        case _:
            yield f"{where}: {short(fault.message)}"


def short(message: str) -> str:
    """A message that may quote a value, cut to a length a model can bear."""
    return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"


def _unknown(fault: ValidationIssue) -> Iterator[str]:
    known = fault.schema.get("properties")
    has_patterns = bool(fault.schema.get("patternProperties"))
    for name in fault.found if isinstance(fault.found, dict) else ():
        # Which names no pattern fits stands in the message alone.
        if name not in (known if isinstance(known, dict) else ()) and (not has_patterns or repr(name) in fault.message):
            yield name


def _of_several(fault: ValidationIssue, forms: Sequence[JsonValue]) -> Iterator[str]:
    """What is wrong by that form which the value seems to be meant as; all forms where it seems none."""
    if not fault.branches:
        yield f"{place(fault.path)}: fits more than one of its forms and must fit exactly one"
        return
    nearest = min(fault.branches, key=lambda branch: _distance(branch, fault.path))
    tags = [each for branch in fault.branches for each in branch if _is_name(each, len(fault.path) + 1)]
    match _distance(nearest, fault.path)[0]:
        case 2:
            wanted = dict.fromkeys(map(_form, forms))
            yield f"{place(fault.path)}: must be {' or '.join(wanted)}, not {_kind(fault.found)} {_shown(fault.found)}"
        case 1 if len({each.path for each in tags}) == 1:
            wanted = dict.fromkeys(map(_shown, (value for each in tags for value in _values(each))))
            yield f"{place(tags[0].path)}: must be {' or '.join(wanted)}, not {_shown(tags[0].found)}"
        case _:
            for each in nearest:
                yield from explained(each)


def _distance(branch: Sequence[ValidationIssue], path: Path) -> tuple[int, int]:
    """How far a value is from a form: 2 of another kind, 1 of another name, 0 only with mistakes; and how many."""
    if any(each.path == path and (each.rule == "type" or _is_name(each, len(path))) for each in branch):
        return 2, len(branch)
    return int(any(_is_name(each, len(path) + 1) for each in branch)), len(branch)


def _is_name(fault: ValidationIssue, depth: int) -> bool:
    """Whether what is wrong there is the word that tells one form from another."""
    return len(fault.path) == depth and fault.rule in ("enum", "const")


def _values(fault: ValidationIssue) -> Sequence[JsonValue]:
    return fault.wanted if fault.rule == "enum" and isinstance(fault.wanted, list) else [fault.wanted]


def _form(schema: JsonValue) -> str:
    """A form among several, in a few words."""
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
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"
