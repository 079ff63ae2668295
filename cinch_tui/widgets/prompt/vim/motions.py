"""Vim motions and text objects, as positions in characters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["exclusive", "inclusive", "lines"]

_WORD = re.compile(r"\w+|[^\w\s]+|(?<=\n)(?=\n)")
_BLANK_WORD = re.compile(r"\S+|(?<=\n)(?=\n)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = {key: pair for pair, keys in (("()", "()b"), ("[]", "[]"), ("{}", "{}B"), ("<>", "<>")) for key in keys}
_WORD_OR_BLANKS = re.compile(r"\w+|[^\w\s]+|[^\S\n]+")
_NONBLANKS_OR_BLANKS = re.compile(r"\S+|[^\S\n]+")


class Motion(Struct, frozen=True):
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


def span_of(text: str, at: int, kind: str, *, around: bool) -> tuple[int, int] | None:
    """Return the span of a text object, with surroundings if `around`; None if absent."""
    match kind:
        case "w" | "W":
            return _word_around(text, at, _WORD_OR_BLANKS if kind == "w" else _NONBLANKS_OR_BLANKS, around=around)
        case "p":
            return _paragraph_around(text, at, around=around)
        case '"' | "'" | "`":
            return _quotation(text, at, kind, around=around)
        case _:
            return _in_brackets(text, at, _BRACKETS[kind], around=around)


def _word_around(text: str, at: int, pattern: re.Pattern[str], *, around: bool) -> tuple[int, int] | None:
    parts = [match.span() for match in pattern.finditer(text, line_start(text, at), line_end(text, at))]
    place = next((place for place, (start, end) in enumerate(parts) if start <= at < end), None)
    if place is None:
        return None
    start, end = parts[place]
    if not around:
        return start, end
    behind = parts[place + 1] if place + 1 < len(parts) else None
    before = parts[place - 1] if place else None
    if text[start].isspace():
        return (start, behind[1]) if behind else (start, end)
    if behind and text[behind[0]].isspace():
        return start, behind[1]
    return (before[0], end) if before and text[before[0]].isspace() else (start, end)


def _quotation(text: str, at: int, quote: str, *, around: bool) -> tuple[int, int] | None:
    first = line_start(text, at)
    marks = [first + match.start() for match in re.finditer(rf"(?<!\\){quote}", text[first : line_end(text, at)])]
    pairs = zip(marks[::2], marks[1::2], strict=False)
    found = next(((start, end) for start, end in pairs if at <= end), None)
    if found is None:
        return None
    start, end = found
    return (start, end + 1) if around else (start + 1, end)


def _in_brackets(text: str, at: int, pair: str, *, around: bool) -> tuple[int, int] | None:
    start = _unmatched(text, at if text[at : at + 1] != pair[1] else at - 1, pair[0], pair[1], -1)
    end = _unmatched(text, start + 1, pair[1], pair[0], 1) if start is not None else None
    if start is None or end is None:
        return None
    return (start, end + 1) if around else (start + 1, end)


def _unmatched(text: str, at: int, wanted: str, other: str, step: int) -> int | None:
    """Return the next unmatched bracket."""
    depth = 0
    while 0 <= at < len(text):
        if text[at] == wanted:
            if depth == 0:
                return at
            depth -= 1
        elif text[at] == other:
            depth += 1
        at += step
    return None


def _paragraph_around(text: str, at: int, *, around: bool) -> tuple[int, int]:
    """Lines as blank, or as full, as the one here."""
    lines = text.split("\n")
    row = text.count("\n", 0, at)
    first = last = row

    def alike(other: int, than: int) -> bool:
        return 0 <= other < len(lines) and bool(lines[other].strip()) == bool(lines[than].strip())

    while alike(first - 1, row):
        first -= 1
    while alike(last + 1, row):
        last += 1
    if around and last + 1 < len(lines):
        beyond = last = last + 1
        while alike(last + 1, beyond):
            last += 1
    start = sum(len(line) + 1 for line in lines[:first])
    return start, start + len("\n".join(lines[first : last + 1]))
