"""A drawn line, and how styled text is wrapped into lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style

from harness.lazy_dataclass import dataclass

Run: TypeAlias = tuple[str, Style]

# A wide character may stand at the end of a line, closing punctuation of its scripts may not begin one.
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
)
_CLOSING = "、。，．：；？！）」』】〉》〕％ー々〜…"

_FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the picture.

    `gutter` counts the characters in front that are decoration and never copied; `end` is what copying puts after the
    line: a newline, or what a wrap took away; `fill` colours the rest of the row.
    """

    segments: tuple[Segment, ...]
    gutter: int = 0
    end: str = "\n"
    fill: Style | None = None

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    @property
    def width(self) -> int:
        return sum(segment.cell_length for segment in self.segments)


BLANK = Line(())


def plain_line(text: str, style: Style) -> Line:
    return Line((Segment(text, style),)) if text else BLANK


def indented(lines: Iterable[Line], first: Run, rest: Run) -> list[Line]:
    """`lines` behind a gutter: `first` before the first of them, `rest` before the others."""
    result: list[Line] = []
    for line in lines:
        text, style = rest if result else first
        gutter = Segment(text, style)
        result.append(Line((gutter, *line.segments), line.gutter + len(text), line.end, line.fill))
    return result


def wrap_runs(runs: Sequence[Run], width: int) -> list[Line]:
    """Styled text as lines of at most `width` cells, broken at newlines and between words where that is possible."""
    return [line for row in _rows(runs) for line in _wrap_row(row, _word_breaks(_plain(row), width))]


def chop_runs(runs: Sequence[Run], width: int) -> list[Line]:
    """Like `wrap_runs`, but broken at the very edge, as code and terminal output are."""
    return [line for row in _rows(runs) for line in _wrap_row(row, _edge_breaks(_plain(row), width))]


def _plain(row: Sequence[Run]) -> str:
    return "".join(text for text, _ in row)


def _rows(runs: Sequence[Run]) -> Iterable[list[Run]]:
    row: list[Run] = []
    for text, style in runs:
        first, *others = text.split("\n")
        if first:
            row.append((first, style))
        for piece in others:
            yield row
            row = [(piece, style)] if piece else []
    yield row


def _wrap_row(row: Sequence[Run], breaks: Sequence[int]) -> list[Line]:
    pieces = _divide(row, breaks)
    lines = [_line_of(piece) for piece in pieces[:-1]]
    lines.append(_line_of(pieces[-1], "\n"))
    return lines


def _line_of(piece: list[Run], end: str = "") -> Line:
    """A line without the blanks at its end: they are not seen, only copied."""
    swallowed = ""
    while piece and piece[-1][0] != (kept := piece[-1][0].rstrip(" ")):
        text, style = piece.pop()
        swallowed = text[len(kept) :] + swallowed
        if kept:
            piece.append((kept, style))
            break
    return Line(tuple(Segment(text, style) for text, style in piece), end=swallowed + end)


def _divide(row: Sequence[Run], breaks: Sequence[int]) -> list[list[Run]]:
    pieces: list[list[Run]] = []
    piece: list[Run] = []
    position = done = 0
    for whole, style in row:
        text = whole
        while done < len(breaks) and breaks[done] < position + len(text):
            at = breaks[done] - position
            if at:
                piece.append((text[:at], style))
            pieces.append(piece)
            piece, text, position, done = [], text[at:], breaks[done], done + 1
        piece.append((text, style))
        position += len(text)
    return [*pieces, piece]


def _word_breaks(text: str, width: int) -> list[int]:
    if len(text) <= width and cell_len(text) <= width:
        return []
    breaks: list[int] = []
    column = 0
    for match in _words().finditer(text):
        word = match.group()
        cells = cell_len(word)
        if column + cells <= width:
            column += cells
        elif word.isspace():
            column = width
        else:
            start = match.start()
            if column:
                breaks.append(start)
            inner = _edge_breaks(word, width)
            breaks.extend(start + offset for offset in inner)
            column = cell_len(word[inner[-1] :]) if inner else cells
    return breaks


@cache
def _words() -> re.Pattern[str]:
    # It takes a while to compile, and nothing is wrapped before the first paint.
    return re.compile(rf"[{_WIDE}][{_CLOSING}]*|[^\s{_WIDE}]+[{_CLOSING}]*|\s+")


def _edge_breaks(text: str, width: int) -> list[int]:
    if len(text) * 2 <= width or cell_len(text) <= width:
        return []
    if text.isascii():
        return list(range(width, len(text), width))
    return _wide_breaks(text, width)


def _wide_breaks(text: str, width: int) -> list[int]:
    breaks: list[int] = []
    column = 0
    for start, cells in _characters(text):
        if column and column + cells > width:
            breaks.append(start)
            column = 0
        column += cells
    return breaks


def _characters(text: str) -> Iterable[tuple[int, int]]:
    """Where each character that a reader sees begins, and how many cells it takes."""
    flag = 0
    for start, end, cells in split_graphemes(text)[0]:
        is_half = end - start == 1 and text[start] in _FLAG_LETTERS
        # Two such letters are one flag, which rich does not know.
        flag = (flag + 1) % 2 if is_half else 0
        if flag:
            yield start, 2
        elif not is_half:
            yield start, cells
