"""Vim text objects: word, quotation, brackets or paragraph around a position."""

from __future__ import annotations

import re

from cinch_tui.widgets.prompt.vim.motions import line_end, line_start

_BRACKETS = {key: pair for pair, keys in (("()", "()b"), ("[]", "[]"), ("{}", "{}B"), ("<>", "<>")) for key in keys}
_WORD = re.compile(r"\w+|[^\w\s]+|[^\S\n]+")
_BLANK_WORD = re.compile(r"\S+|[^\S\n]+")
KINDS = {"w", "W", "p", '"', "'", "`", *_BRACKETS}


def span_of(text: str, at: int, kind: str, *, around: bool) -> tuple[int, int] | None:
    """Return the span of a text object, with surroundings if `around`; None if there is none."""
    match kind:
        case "w" | "W":
            return _word(text, at, _WORD if kind == "w" else _BLANK_WORD, around=around)
        case "p":
            return _paragraph(text, at, around=around)
        case '"' | "'" | "`":
            return _quotation(text, at, kind, around=around)
        case _:
            return _in_brackets(text, at, _BRACKETS[kind], around=around)


def _word(text: str, at: int, pattern: re.Pattern[str], *, around: bool) -> tuple[int, int] | None:
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


def _paragraph(text: str, at: int, *, around: bool) -> tuple[int, int]:
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
