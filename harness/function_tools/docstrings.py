"""Parsing of docstrings: the summary, and a text for each parameter.

Supports the sections of Google ("Args:") and NumPy ("Parameters", underlined), and reST fields (":param x:").
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

_GOOGLE = re.compile(r"(?i)(args|arguments|parameters|params|keyword args|keyword arguments):\s*$")
_NUMPY = re.compile(r"(?i)(other )?parameters\s*$")
_RULE = re.compile(r"-{3,}\s*$")
_FIELD = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_ANY_FIELD = re.compile(r":[a-z]+(\s[^:]*)?:")
# `name`, `name (type)` or `name: type`, and what follows the colon.
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"\*{0,2}\w+(\s*,\s*\*{0,2}\w+)*\s*(:.*)?$")
_HEADING = re.compile(
    r"(?i)((keyword )?(args|arguments)|param(eter)?s|returns?|raises|yields?|examples?|notes?|attributes):\s*$"
)


class Docs(Struct, frozen=True):
    """Documentation of a function."""

    summary: str = ""
    """First paragraph, on one line."""
    parameters: Mapping[str, str] = {}
    """Texts by parameter name."""


def read_docs(docstring: str | None) -> Docs:
    lines = inspect.cleandoc(docstring or "").splitlines()
    texts = {**_google(lines), **_numpy(lines), **_rest(lines)}
    return Docs(_summary(lines), {name: text for name, text in texts.items() if text})


def _summary(lines: Sequence[str]) -> str:
    """Return the first paragraph, unless it is a section."""
    paragraph: list[str] = []
    for line, below in pairwise((*lines, "")):
        if not line.strip() or _HEADING.match(line) or _ANY_FIELD.match(line) or _RULE.match(below):
            break
        paragraph.append(line.strip())
    return " ".join(paragraph)


def _google(lines: Sequence[str]) -> Mapping[str, str]:
    texts: dict[str, list[str]] = {}
    for block in _sections(lines, _GOOGLE):
        margin = _indent(block[0]) if block else 0
        latest: list[str] = []
        for line in block:
            entry = _GOOGLE_ENTRY.match(line.strip())
            if entry and _indent(line) == margin:
                latest = texts.setdefault(entry[1], [])
                latest.append(entry[2])
            else:
                latest.append(line)
    return _joined(texts)


def _sections(lines: Sequence[str], heading: re.Pattern[str]) -> Iterator[Sequence[str]]:
    """Yield the indented lines under each matching heading."""
    for number, line in enumerate(lines):
        if not heading.match(line):
            continue
        block: list[str] = []
        for below in lines[number + 1 :]:
            if below.strip() and not _indent(below):
                break
            if below.strip():
                block.append(below)
        yield block


def _numpy(lines: Sequence[str]) -> Mapping[str, str]:
    texts: dict[str, list[str]] = {}
    latest: Sequence[list[str]] = ()
    inside = False
    for line, below in pairwise((*lines, "")):
        if _RULE.match(below):
            inside = _NUMPY.match(line) is not None
            latest = ()
        elif inside and line.strip() and not _indent(line) and _NUMPY_ENTRY.match(line):
            names = line.partition(":")[0].replace("*", "").split(",")
            latest = [texts.setdefault(name.strip(), []) for name in names]
        elif inside and _indent(line):
            for text in latest:
                text.append(line)
    return _joined(texts)


def _rest(lines: Sequence[str]) -> Mapping[str, str]:
    texts: dict[str, list[str]] = {}
    latest: list[str] | None = None
    for line in lines:
        found = _FIELD.match(line)
        if found:
            latest = texts.setdefault(found[1], [])
            latest.append(found[2])
        elif not _indent(line):
            latest = None
        elif latest is not None:
            latest.append(line)
    return _joined(texts)


def _joined(texts: Mapping[str, Iterable[str]]) -> Mapping[str, str]:
    return {name: " ".join(line.strip() for line in text).strip() for name, text in texts.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
