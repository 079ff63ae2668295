"""Formats in which models write tool calls into their text; each reader parses text that starts with its mark; pure.

A call counts when it is complete. An incomplete call keeps its name, so that the model gets an error, and never runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.messages import JsonObject, JsonValue

Dialect: TypeAlias = Literal["tagged", "bare", "marked"]

CALL, CALLED = "<tool_call>", "</tool_call>"
FUNCTION = "<function="
PYTHON = "<|python_tag|>"
MARK = "[TOOL_CALLS]"
# Text in a chat template that supports a dialect, since it writes the calls of earlier turns.
SIGNS: Mapping[Dialect, tuple[str, ...]] = {"tagged": (CALL,), "bare": (PYTHON, '"parameters": '), "marked": (MARK,)}
BARE_BEGINNINGS = ('{"name":', '{"type":"function"', '{"function":')
BEGINNING = 200

# A complete string, the start of an incomplete one, or a structural character of JSON.
STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\]<]', re.DOTALL)
NAME = re.compile(r'"(?:name|function)"\s*:\s*"([^"\\]+)"')
MARKED_NAME = re.compile(r"([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*(?=\{)")
MARKED_BEGINNING = re.compile(r"[\w.-]+[^{]{0,80}")
WRITTEN_OUT = re.compile(r"<function=([^>\n]+)>(.*?)</function>\s*(</tool_call>|\Z)", re.DOTALL)
PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


class ParsedCall(Struct, frozen=True):
    """A tool call. `arguments` is a JSON object, or the invalid text in its place, which never runs."""

    name: str
    arguments: str


class Fragment(Struct, frozen=True):
    """Text from a mark on."""

    text: str
    known: Mapping[str, JsonObject]
    """Schemas of the known tools by name."""

    is_over: bool
    """True if no more text will come."""


class Found(Struct, frozen=True):
    """Content at a mark: its length in characters and the calls in it; without calls it is text."""

    length: int
    calls: tuple[ParsedCall, ...] = ()


# None: more text is needed to decide.
Reader: TypeAlias = Callable[[Fragment], Found | None]


def _read_tagged(fragment: Fragment) -> Found | None:
    """Parse `<tool_call>{…}</tool_call>`, also with several objects, or with the call text in tags."""
    text = fragment.text
    at = _past_blanks(text, len(CALL))
    if text.startswith(FUNCTION, at):
        return _read_written_out(fragment, at)
    if text[at : at + 1] != "{":
        may_come = not fragment.is_over and FUNCTION.startswith(text[at:])
        return None if may_come else Found(len(CALL))
    calls: list[ParsedCall] = []
    end = at
    while text[at : at + 1] == "{":
        end, state = _extent(text, at)
        if state != "whole":
            return _incomplete(fragment, at, CALLED)
        if not (found := _calls_in(text[at:end])):
            return Found(len(CALL))
        calls += found
        at = _past_blanks(text, end)
    if text.startswith(CALLED, at):
        return Found(at + len(CALLED), tuple(calls))
    return None if not fragment.is_over and CALLED.startswith(text[at:]) else Found(end, tuple(calls))


def _read_written_out(fragment: Fragment, at: int) -> Found | None:
    """Parse `<function=name><parameter=key>value</parameter></function>`; the schema determines the types of values."""
    found = WRITTEN_OUT.match(fragment.text, at)
    if found is None or not (fragment.is_over or found[3]):
        return _incomplete(fragment, at, "", name=fragment.text[at + len(FUNCTION) :].partition(">")[0])
    name = found[1].strip()
    properties = fragment.known.get(name, {}).get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    arguments: JsonObject = {key: _typed(value, schemas.get(key)) for key, value in PARAMETER.findall(found[2])}
    return Found(found.end(), (ParsedCall(name, json.dumps(arguments, ensure_ascii=False)),))


def _read_bare(fragment: Fragment) -> Found | None:
    """Parse `{"name": …, "parameters": …}`, several separated by semicolons; known tools only: users ask for JSON
    too."""
    text = fragment.text
    compact = re.sub(r"\s", "", text[:BEGINNING])
    may_come = not fragment.is_over
    if not any(compact.startswith(each) or (may_come and each.startswith(compact)) for each in BARE_BEGINNINGS):
        return Found(len(BARE))
    end, state = _extent(text, 0)
    found = _incomplete(fragment, 0, "") if state == "open" else Found(end, tuple(_calls_in(text[:end])))
    if found is None:
        return None
    if state == "broken" or not any(call.name in fragment.known for call in found.calls):
        return Found(found.length)
    after = _past_blanks(text, end)
    if after == len(text) and may_come:
        return None
    return Found(after + 1 if text[after : after + 1] == ";" else found.length, found.calls)


def _read_for_python(fragment: Fragment) -> Found | None:
    """Parse Llama's mark for programs: a call as bare JSON, or code, which is not run."""
    at = _past_blanks(fragment.text, len(PYTHON))
    if at == len(fragment.text) and not fragment.is_over:
        return None
    if fragment.text[at : at + 1] != BARE:
        return Found(len(PYTHON))
    found = _read_bare(Fragment(fragment.text[at:], fragment.known, fragment.is_over))
    return found and Found(at + found.length if found.calls else len(PYTHON), found.calls)


def _read_marked(fragment: Fragment) -> Found | None:
    """Parse `[TOOL_CALLS] [{…}, …]`, or `[TOOL_CALLS]name[ARGS]{…}`."""
    text = fragment.text
    at = _past_blanks(text, len(MARK))
    named = MARKED_NAME.match(text, at)
    begin = named.end() if named else at
    if named is None and text[at : at + 1] not in ("[", "{"):
        may_come = at == len(text) or MARKED_BEGINNING.fullmatch(text, at) is not None
        return None if may_come and not fragment.is_over else Found(len(MARK))
    end, state = _extent(text, begin)
    if state != "whole":
        return _incomplete(fragment, begin, MARK, name=named[1] if named else "")
    if named:
        return Found(end, (ParsedCall(named[1], text[begin:end]),))
    calls = _calls_in(text[begin:end])
    return Found(end, tuple(calls)) if calls else Found(len(MARK))


# Bare JSON has no mark of its own: it only counts at the start of text.
BARE = "{"
READERS: Mapping[str, tuple[Dialect, Reader]] = {
    CALL: ("tagged", _read_tagged),
    BARE: ("bare", _read_bare),
    PYTHON: ("bare", _read_for_python),
    MARK: ("marked", _read_marked),
}


def _past_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _extent(text: str, at: int) -> tuple[int, Literal["whole", "open", "broken"]]:
    """Return the end of the JSON object or array that begins at a position, as far as it has arrived."""
    depth = 0
    for found in STRUCTURE.finditer(text, at):
        match found[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if depth == 0:
                    return found.end(), "whole"
            case "<":
                return found.start(), "broken"
            case '"':
                break
            case _:
                pass
    return len(text), "open"


def _incomplete(fragment: Fragment, at: int, closing: str, *, name: str = "") -> Found | None:
    """Return an incomplete call by its name when nothing more can come; without a name, text."""
    closed = fragment.text.find(closing, at) if closing and _extent(fragment.text, at)[1] == "broken" else -1
    if closed < 0 and not fragment.is_over:
        return None
    end = len(fragment.text) if closed < 0 else closed
    if not name and (found := NAME.search(fragment.text, at, end)):
        name = found[1]
    after = end + len(CALLED) if closed >= 0 and closing == CALLED else end
    return Found(after, (ParsedCall(name, fragment.text[at:end].strip()),) if name else ())


def _calls_in(text: str) -> list[ParsedCall]:
    """Return the calls in a JSON object or array; one by its name if the JSON is invalid."""
    try:
        value: JsonValue = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        found = NAME.search(text)
        return [ParsedCall(found[1], text)] if found else []
    return [call for part in (value if isinstance(value, list) else [value]) if (call := _call_of(part))]


def _call_of(value: JsonValue) -> ParsedCall | None:
    """Return the call that an object describes; None if it is something else."""
    inner = value.get("function") if isinstance(value, dict) else None
    value = inner if isinstance(inner, dict) else value
    if not isinstance(value, dict):
        return None
    name = value.get("name") or value.get("function")
    arguments = value.get("arguments", value.get("parameters", {}))
    if not isinstance(name, str) or not name:
        return None
    # Some models write the arguments as JSON text in JSON.
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ParsedCall(name, written)


def _typed(value: str, schema: JsonValue) -> JsonValue:
    types = _types(schema)
    if "string" in types or not types:
        return None if value == "null" and "null" in types else value
    try:
        return json.loads(value, strict=False)
    except ValueError:
        return value


def _types(schema: JsonValue) -> set[str]:
    if not isinstance(schema, dict):
        return set()
    named, branches = schema.get("type"), schema.get("anyOf")
    own = named if isinstance(named, list) else [named]
    inner = [kind for branch in (branches if isinstance(branches, list) else []) for kind in _types(branch)]
    return {kind for kind in own if isinstance(kind, str)} | {*inner}
