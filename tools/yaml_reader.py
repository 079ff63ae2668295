"""YAML documents as JSON values: the core schema of YAML 1.2, with bounded nesting and aliases.

Built from parser events instead of by `yaml.safe_load`, which follows YAML 1.1 (`no` is false, `12:30` is a number,
dates are objects), recurses in C for each level of nesting, and does not bound what aliases expand to.

Source: https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, cast

from harness.messages import JsonObject, JsonValue

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 200
"""Maximum nesting of lists and mappings."""
MAX_VALUES = 4_000_000
"""Maximum number of values once aliases are expanded."""

_CONSTANTS: dict[str, JsonValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_TAGS = {"tag:yaml.org,2002:str": "str", "tag:yaml.org,2002:float": "float", "tag:yaml.org,2002:int": "int"}
_MERGE = "<<"


class YamlError(ValueError):
    """The text is not valid YAML, or exceeds a limit."""


def parse_yaml(text: str) -> JsonValue:
    """Return the value of the first document in a text.

    Raises:
        YamlError: The text is not YAML, or is nested or expanded beyond the limits.
    """
    # Imported with the first document in YAML: it takes 20 ms.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = yaml.parse(text, loader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return _Builder().build(cast("Iterator[Any]", events))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{place}{getattr(error, 'problem', None) or error}") from error


class _Level:
    """A list or mapping that is being read."""

    def __init__(self, value: list[JsonValue] | JsonObject, anchor: str | None, start: int) -> None:
        self.value = value
        self.anchor = anchor
        self.start = start
        self.key: str | None = None
        self.merged: list[JsonValue] = []

    def add(self, value: JsonValue) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is None:
            self.key = _key(value)
        else:
            if self.key == _MERGE:
                self.merged += value if isinstance(value, list) else [value]
            else:
                self.value[self.key] = value
            self.key = None

    def finish(self) -> list[JsonValue] | JsonObject:
        if isinstance(self.value, dict):
            # Own keys take precedence, and so do earlier sources over later ones.
            for source in self.merged:
                for key, value in (source if isinstance(source, dict) else {}).items():
                    self.value.setdefault(key, value)
        return self.value


class _Builder:
    """Value built from the events of a parser."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._anchors: dict[str, tuple[JsonValue, int]] = {}
        self._count = 0
        self._root: list[JsonValue] = []

    # The stubs of PyYAML leave the types of events open.
    def build(self, events: Iterator[Any]) -> JsonValue:
        for event in events:
            match type(event).__name__:
                case "ScalarEvent":
                    self._put(_scalar(event), event.anchor, 1)
                case "AliasEvent":
                    self._put_alias(event.anchor)
                case "MappingStartEvent":
                    self._open({}, event.anchor)
                case "SequenceStartEvent":
                    self._open([], event.anchor)
                case "MappingEndEvent" | "SequenceEndEvent":
                    self._close()
                case "DocumentEndEvent":
                    break
                case _:
                    pass
        return self._root[0] if self._root else None

    def _open(self, value: list[JsonValue] | JsonObject, anchor: str | None) -> None:
        if len(self._levels) >= DEEPEST:
            raise YamlError(f"nested deeper than {DEEPEST} levels")
        self._levels.append(_Level(value, anchor, self._count))

    def _close(self) -> None:
        level = self._levels.pop()
        self._put(level.finish(), level.anchor, 1, self._count - level.start)

    def _put_alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            raise YamlError(f"undefined or recursive alias {anchor!r}")
        value, size = self._anchors[anchor]
        self._put(value, None, size)

    def _put(self, value: JsonValue, anchor: str | None, count: int, below: int = 0) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise YamlError(f"more than {MAX_VALUES:,} values, with aliases expanded")
        if anchor is not None:
            self._anchors[anchor] = (value, count + below)
        if self._levels:
            self._levels[-1].add(value)
        else:
            self._root.append(value)


def _scalar(event: Any) -> JsonValue:
    text: str = event.value
    tag = _TAGS.get(event.tag or "", "")
    if tag == "str" or not (event.implicit[0] or tag):
        return text
    if text in _CONSTANTS and not tag:
        return _CONSTANTS[text]
    if text[:1] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text) and tag != "float":
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    # A number that is too large for a float would be infinite, which JSON cannot express.
    return number if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)) else text


def _key(value: JsonValue) -> str:
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            raise YamlError("a list or a mapping is used as a key")
