"""Vim motions: target position in characters, and the kind of span for operators."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from harness.lazy_dataclass import dataclass

Kind: TypeAlias = Literal["exclusive", "inclusive", "lines"]

_WORD = re.compile(r"\w+|[^\w\s]+|(?<=\n)(?=\n)")
_BLANK_WORD = re.compile(r"\S+|(?<=\n)(?=\n)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Motion:
    to: int
    kind: Kind = "exclusive"


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return the position of the newline or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def resting(text: str, at: int) -> int:
    """Return a position on a letter, for normal mode: not behind the last one of a line."""
    at = max(0, min(at, len(text)))
    return at - 1 if at > line_start(text, at) and at == line_end(text, at) else at


def first_letter(text: str, at: int) -> int:
    start, end = line_start(text, at), line_end(text, at)
    return start + len(text[start:end]) - len(text[start:end].lstrip())


def vertical(text: str, at: int, by: int) -> Motion | None:
    """Move down or up by lines in the same column; None if there are not enough lines."""
    row = text.count("\n", 0, at) + by
    lines = text.split("\n")
    if not 0 <= row < len(lines):
        return None
    start = sum(len(line) + 1 for line in lines[:row])
    return Motion(start + min(at - line_start(text, at), len(lines[row])), "lines")


def to_line(text: str, number: int) -> Motion:
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: min(number, len(lines)) - 1])
    return Motion(first_letter(text, start), "lines")


def to_letter(text: str, at: int, how: str, letter: str, count: int) -> Motion | None:
    """f, F, t and T: move to a letter in the line, or next to it."""
    start, end, place = line_start(text, at), line_end(text, at), at
    for _ in range(count):
        # Skip a letter the cursor is next to.
        place = text.find(letter, place + 1, end) if how in "ft" else text.rfind(letter, start, place)
        if place < 0:
            return None
    if how == "t":
        return Motion(place - 1, "inclusive")
    return Motion(place + 1) if how == "T" else Motion(place, "inclusive" if how == "f" else "exclusive")


def matching_bracket(text: str, at: int) -> Motion | None:
    """Return the bracket that matches the one at or after the cursor in its line."""
    place = next((place for place in range(at, line_end(text, at)) if text[place] in "()[]{}"), None)
    if place is None:
        return None
    opens = text[place] in _PAIRS
    mine = text[place]
    other = _PAIRS[mine] if opens else next(key for key, value in _PAIRS.items() if value == mine)
    depth = 0
    for here in range(place, len(text)) if opens else range(place, -1, -1):
        depth += (text[here] == mine) - (text[here] == other)
        if depth == 0:
            return Motion(here, "inclusive")
    return None


def _words(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def _forward(pattern: re.Pattern[str], text: str, at: int) -> int:
    return next((start for start, _ in _words(pattern, text) if start > at), len(text))


def _back(pattern: re.Pattern[str], text: str, at: int) -> int:
    return next((start for start, _ in reversed(_words(pattern, text)) if start < at), 0)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    ends = (end - 1 for start, end in _words(pattern, text) if end > start)
    return next((end for end in ends if end > at), max(0, len(text) - 1))


def _paragraph(text: str, at: int) -> int:
    found = re.compile(r"\n[^\S\n]*(?=\n)").search(text, at)
    return found.end() if found else len(text)


def _paragraph_back(text: str, at: int) -> int:
    found = [match.end() for match in re.finditer(r"\n[^\S\n]*(?=\n)", text) if match.end() < at]
    return found[-1] if found else 0


Step: TypeAlias = Callable[[str, int], int]

STEPS: dict[str, tuple[Step, Kind]] = {
    "h": (lambda text, at: max(line_start(text, at), at - 1), "exclusive"),
    "l": (lambda text, at: min(line_end(text, at), at + 1), "exclusive"),
    "w": (lambda text, at: _forward(_WORD, text, at), "exclusive"),
    "W": (lambda text, at: _forward(_BLANK_WORD, text, at), "exclusive"),
    "b": (lambda text, at: _back(_WORD, text, at), "exclusive"),
    "B": (lambda text, at: _back(_BLANK_WORD, text, at), "exclusive"),
    "e": (lambda text, at: _end(_WORD, text, at), "inclusive"),
    "E": (lambda text, at: _end(_BLANK_WORD, text, at), "inclusive"),
    "0": (line_start, "exclusive"),
    "^": (first_letter, "exclusive"),
    "{": (_paragraph_back, "exclusive"),
    "}": (_paragraph, "exclusive"),
}
"""Motions repeated by the count."""
