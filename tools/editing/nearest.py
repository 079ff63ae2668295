"""Nearest place for text that is not in a file, to explain to the model why nothing matched.

It scores similarity, so no edit is ever applied to what it finds.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff

from msgspec import Struct

_COMMON = 50
_RATED = 60
_ALIKE = 0.6
_WORD = re.compile(r"\w{2,}")
_QUOTED = 120
_DIFF_LINES = 40
_DIFF_CHARS = 500


class Nearest(Struct, frozen=True):
    """Lines from number `first` on; `reason` describes the first difference in one line."""

    first: int
    lines: tuple[str, ...]
    reason: str
    difference: str
    """Unified diff from the file's lines to the requested text, bounded; empty for a single line."""


def nearest_block(text: str, wanted: str) -> Nearest | None:
    """Return the block of lines most similar to `wanted`, if any is similar enough."""
    lines = text.split("\n")
    asked = wanted.strip("\n").split("\n")
    start = _voted(lines, asked)
    if start is None:
        start = _alike(lines, asked)
    if start is None:
        return None
    start = max(start, 0)
    here = lines[start : start + len(asked)]
    return Nearest(start + 1, tuple(here), _reason(here, asked, start), _unified(here, asked, start))


def _unified(here: Sequence[str], asked: Sequence[str], start: int) -> str:
    """Return a diff whose header and removed lines are those of the file."""
    lines = list(unified_diff(here, asked, "file", "old_string", lineterm="", n=1))
    shown = [_numbered(line, start)[:_DIFF_CHARS] for line in lines[:_DIFF_LINES]]
    more = [f"… {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
    return "\n".join([*shown, *more])


def _numbered(line: str, start: int) -> str:
    """Return a hunk header with the line numbers of the file instead of those of the block."""
    if not line.startswith("@@"):
        return line
    first, comma, count = line.split()[1].lstrip("-").partition(",")
    return f"@@ -{int(first) + start}{comma}{count} @@"


def _voted(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """Return the line at which most requested lines match, ignoring indentation; rare lines count more."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        places[line.strip()].append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(asked):
        found = places.get(line.strip(), []) if line.strip() else []
        if len(found) <= _COMMON:
            for number in found:
                votes[number - offset] += 60 // len(found)
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _alike(lines: Sequence[str], asked: Sequence[str]) -> int | None:
    """Return the position at which the longest requested line has its best match."""
    offset, anchor = max(enumerate(asked), key=lambda each: len(each[1].strip()))
    words = set(_WORD.findall(anchor.lower()))
    shared = Counter(
        {
            number: count
            for number, line in enumerate(lines)
            if (count := len(words.intersection(_WORD.findall(line[:500].lower()))))
        }
    )
    best, best_ratio = None, _ALIKE
    for number, _ in shared.most_common(_RATED):
        ratio = SequenceMatcher(None, lines[number].strip()[:500], anchor.strip()[:500]).ratio()
        if ratio > best_ratio:
            best, best_ratio = number - offset, ratio
    return best


def _reason(here: Sequence[str], asked: Sequence[str], start: int) -> str:
    for offset, line in enumerate(asked):
        actual = here[offset] if offset < len(here) else None
        if actual is None:
            return f"the file ends after line {start + offset}, {len(asked) - offset} lines before old_string does"
        if actual != line:
            return f"line {start + offset + 1} {_difference(actual, line)}"
    return "only the lines' borders differ"


def _difference(actual: str, asked: str) -> str:
    if actual.strip() == asked.strip():
        if actual.rstrip() == asked.rstrip():
            return "differs in spaces at its end"
        return f"differs in indentation: the file has {_indent(actual)}, old_string has {_indent(asked)}"
    if actual.lower() == asked.lower():
        return "differs in upper and lower case"
    if "".join(actual.split()) == "".join(asked.split()):
        return "differs in spaces inside the line"
    return f"differs: the file has {_quoted(actual)}, old_string has {_quoted(asked)}"


def _indent(line: str) -> str:
    space = line[: len(line) - len(line.lstrip())]
    tabs, spaces = space.count("\t"), space.count(" ")
    parts = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in ((tabs, "tab"), (spaces, "space")) if count]
    return " and ".join(parts) or "none"


def _quoted(line: str) -> str:
    line = line.strip()
    return repr(line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…")
