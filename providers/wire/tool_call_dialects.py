"""The ways in which models write tool calls into their text: each reader looks at text that begins with its mark; pure.

A call counts when it is whole. Half a call keeps its name, so that the model can be told of it, and never runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue

Dialect: TypeAlias = Literal["tagged", "bare", "marked"]

CALL, CALLED = "<tool_call>", "</tool_call>"
FUNCTION = "<function="
PYTHON = "<|python_tag|>"
MARK = "[TOOL_CALLS]"
# What a template that knows a dialect says, since it writes the calls of earlier turns.
SIGNS: Mapping[Dialect, tuple[str, ...]] = {"tagged": (CALL,), "bare": (PYTHON, '"parameters": '), "marked": (MARK,)}
BARE_BEGINNINGS = ('{"name":', '{"type":"function"', '{"function":')
BEGINNING = 200

# A whole string, the beginning of one that is not whole, or what gives JSON its form.
STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\]<]', re.DOTALL)
NAME = re.compile(r'"(?:name|function)"\s*:\s*"([^"\\]+)"')
MARKED_NAME = re.compile(r"([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*(?=\{)")
MARKED_BEGINNING = re.compile(r"[\w.-]+[^{]{0,80}")
WRITTEN_OUT = re.compile(r"<function=([^>\n]+)>(.*?)</function>\s*(</tool_call>|\Z)", re.DOTALL)
PARAMETER = re.compile(r"<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """`arguments` is a JSON object, or what was written in the place of one: then nothing may run."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """Text from a mark on. `known`: the tools there are, with their schemas. `is_over`: no more will come."""

    text: str
    known: Mapping[str, JsonObject]
    is_over: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a mark: how many characters, and the calls in them; none means that it is text."""

    length: int
    calls: tuple[Call, ...] = ()


# None: more must come before it can be told.
Reader: TypeAlias = Callable[[Fragment], Found | None]


def _read_tagged(seen: Fragment) -> Found | None:
    """`<tool_call>{…}</tool_call>`, with several objects as well, or with the call written out in tags of its own."""
    text = seen.text
    at = _past_blanks(text, len(CALL))
    if text.startswith(FUNCTION, at):
        return _read_written_out(seen, at)
    if text[at : at + 1] != "{":
        may_come = not seen.is_over and FUNCTION.startswith(text[at:])
        return None if may_come else Found(len(CALL))
    calls: list[Call] = []
    end = at
    while text[at : at + 1] == "{":
        end, state = _extent(text, at)
        if state != "whole":
            return _half(seen, at, CALLED)
        if (call := _call_in(text[at:end])) is None:
            return Found(len(CALL))
        calls.append(call)
        at = _past_blanks(text, end)
    if text.startswith(CALLED, at):
        return Found(at + len(CALLED), tuple(calls))
    return None if not seen.is_over and CALLED.startswith(text[at:]) else Found(end, tuple(calls))


def _read_written_out(seen: Fragment, at: int) -> Found | None:
    """`<function=name><parameter=key>value</parameter></function>`; the schema tells which values are no strings."""
    found = WRITTEN_OUT.match(seen.text, at)
    if found is None or not (seen.is_over or found[3]):
        return _half(seen, at, "", name=seen.text[at + len(FUNCTION) :].partition(">")[0])
    name = found[1].strip()
    properties = seen.known.get(name, {}).get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    arguments: JsonObject = {key: _typed(value, schemas.get(key)) for key, value in PARAMETER.findall(found[2])}
    return Found(found.end(), (Call(name, json.dumps(arguments, ensure_ascii=False)),))


def _read_bare(seen: Fragment) -> Found | None:
    """`{"name": …, "parameters": …}`, more of them after semicolons; of known tools only: people ask for JSON too."""
    text = seen.text
    compact = re.sub(r"\s", "", text[:BEGINNING])
    if not any(compact.startswith(each) or (not seen.is_over and each.startswith(compact)) for each in BARE_BEGINNINGS):
        return Found(len(BARE))
    end, state = _extent(text, 0)
    if state == "open":
        half = _half(seen, 0, "")
        return half if half is None or any(call.name in seen.known for call in half.calls) else Found(half.length)
    call = _call_in(text[:end]) if state == "whole" else None
    if call is None or call.name not in seen.known:
        return Found(end)
    after = _past_blanks(text, end)
    if after == len(text) and not seen.is_over:
        return None
    return Found(after + 1 if text[after : after + 1] == ";" else end, (call,))


def _read_for_python(seen: Fragment) -> Found | None:
    """Llama's mark for what goes to a program: a call as bare JSON, or code, which is nothing we run."""
    at = _past_blanks(seen.text, len(PYTHON))
    if at == len(seen.text) and not seen.is_over:
        return None
    if seen.text[at : at + 1] != BARE:
        return Found(len(PYTHON))
    found = _read_bare(Fragment(seen.text[at:], seen.known, seen.is_over))
    return found and Found(at + found.length if found.calls else len(PYTHON), found.calls)


def _read_marked(seen: Fragment) -> Found | None:
    """`[TOOL_CALLS] [{…}, …]`, or `[TOOL_CALLS]name[ARGS]{…}`."""
    text = seen.text
    at = _past_blanks(text, len(MARK))
    named = MARKED_NAME.match(text, at)
    begin = named.end() if named else at
    if named is None and text[at : at + 1] not in ("[", "{"):
        may_come = at == len(text) or MARKED_BEGINNING.fullmatch(text, at) is not None
        return None if may_come and not seen.is_over else Found(len(MARK))
    end, state = _extent(text, begin)
    if state != "whole":
        return _half(seen, begin, MARK, name=named[1] if named else "")
    if named:
        return Found(end, (Call(named[1], text[begin:end]),))
    calls = [call for part in _parts(text[begin:end]) if (call := _call_in(part))]
    return Found(end, tuple(calls)) if calls else Found(len(MARK))


# What stands for bare JSON is no mark by itself: it only counts where words could begin.
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
    """Where the JSON object or array that begins there ends, as far as it has come."""
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


def _half(seen: Fragment, at: int, closing: str, *, name: str = "") -> Found | None:
    """A call that is not whole, told by its name when nothing more can come of it; without a name, text."""
    closed = seen.text.find(closing, at) if closing and _extent(seen.text, at)[1] == "broken" else -1
    if closed < 0 and not seen.is_over:
        return None
    end = len(seen.text) if closed < 0 else closed
    if not name and (found := NAME.search(seen.text, at, end)):
        name = found[1]
    after = end + len(CALLED) if closed >= 0 and closing == CALLED else end
    return Found(after, (Call(name, seen.text[at:end].strip()),) if name else ())


def _parts(array: str) -> list[str]:
    """The members of an array of calls, each as JSON, or the whole where it cannot be read."""
    try:
        value: JsonValue = json.loads(array, strict=False)
    except ValueError:
        return [array]
    return [json.dumps(part, ensure_ascii=False) for part in (value if isinstance(value, list) else [value])]


def _call_in(written: str) -> Call | None:
    """The call that a JSON object is; None where it is something else."""
    try:
        value: JsonValue = json.loads(written, strict=False)
    except (ValueError, RecursionError):
        found = NAME.search(written)
        return Call(found[1], written) if found else None
    inner = value.get("function") if isinstance(value, dict) else None
    value = inner if isinstance(inner, dict) else value
    if not isinstance(value, dict):
        return None
    name = value.get("name") or value.get("function")
    arguments = value.get("arguments", value.get("parameters", {}))
    if not isinstance(name, str) or not name:
        return None
    # Some write the arguments as JSON within JSON.
    return Call(name, arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False))


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
