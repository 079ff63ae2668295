"""Drawn lines and wrapping of styled text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size, split_graphemes
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

Run: TypeAlias = tuple[str, Style]

# A line may break after a wide character, but not before closing punctuation of its scripts.
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
)
_CLOSING = "、。，．：；？！）」』】〉》〕％ー々〜…"

_FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))


class StyledLine(Struct, frozen=True):
    """One drawn line."""

    segments: tuple[Segment, ...]
    gutter: int = 0
    """Number of leading decoration characters, excluded from copying."""
    end: str = "\n"
    """Text appended when copying: a newline, or the blanks removed by wrapping."""
    fill: Style | None = None
    """Style of the rest of the row."""

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    @property
    def width(self) -> int:
        return sum(segment.cell_length for segment in self.segments)


BLANK = StyledLine(())


def plain_line(text: str, style: Style) -> StyledLine:
    return StyledLine((Segment(text, style),)) if text else BLANK


def truncated(text: str, cells: int) -> str:
    """Truncate `text` to `cells`, with an ellipsis."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…" if cells > 1 else ""


def filled(lines: Iterable[StyledLine], fill: Style) -> list[StyledLine]:
    """Fill the rest of each row with a style."""
    return [replace(line, fill=fill) for line in lines]


def indented(lines: Iterable[StyledLine], first: Run, rest: Run) -> list[StyledLine]:
    """Prefix lines with a gutter: `first` for the first one, `rest` for the others."""
    result: list[StyledLine] = []
    for line in lines:
        text, style = rest if result else first
        gutter = Segment(text, style)
        result.append(StyledLine((gutter, *line.segments), line.gutter + len(text), line.end, line.fill))
    return result


def wrap_runs(runs: Sequence[Run], width: int) -> list[StyledLine]:
    """Wrap styled text to lines of at most `width` cells, at newlines and between words if possible."""
    return [line for row in _rows(runs) for line in _wrap_row(row, _word_breaks(_plain(row), width))]


def chop_runs(runs: Sequence[Run], width: int) -> list[StyledLine]:
    """Wrap like `wrap_runs`, but at the exact width, for code and terminal output."""
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


def _wrap_row(row: Sequence[Run], breaks: Sequence[int]) -> list[StyledLine]:
    pieces = _divide(row, breaks)
    lines = [_line_of(piece) for piece in pieces[:-1]]
    lines.append(_line_of(pieces[-1], "\n"))
    return lines


def _line_of(piece: list[Run], end: str = "") -> StyledLine:
    """Return a line without trailing blanks, which are kept in `end` for copying."""
    swallowed = ""
    while piece and piece[-1][0] != (kept := piece[-1][0].rstrip(" ")):
        text, style = piece.pop()
        swallowed = text[len(kept) :] + swallowed
        if kept:
            piece.append((kept, style))
            break
    return StyledLine(tuple(Segment(text, style) for text, style in piece), end=swallowed + end)


def _divide(row: Sequence[Run], breaks: Sequence[int]) -> list[list[Run]]:
    pieces: list[list[Run]] = []
    piece: list[Run] = []
    position = done = 0
    for text, style in row:
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
    # Compiled lazily: it is slow and not needed before the first paint.
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
    """Yield the start and cell width of each grapheme."""
    flag = 0
    for start, end, cells in split_graphemes(text)[0]:
        is_half = end - start == 1 and text[start] in _FLAG_LETTERS
        # Two regional indicators are one flag, which rich does not handle.
        flag = (flag + 1) % 2 if is_half else 0
        if flag:
            yield start, 2
        elif not is_half:
            yield start, cells


def text_runs(text: Text, base: Style) -> list[Run]:
    """Convert a rich text to runs; later spans override earlier ones."""
    own = base + _styled(text.style)
    if not text.spans:
        return [(text.plain, own)] if text.plain else []
    edges = sorted({0, len(text), *(min(at, len(text)) for span in text.spans for at in (span.start, span.end))})
    runs: list[Run] = []
    for start, end in pairwise(edges):
        style = own
        for span in text.spans:
            if span.start <= start and span.end >= end:
                style += _styled(span.style)
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0] + text.plain[start:end], style)
        else:
            runs.append((text.plain[start:end], style))
    return runs


def _styled(style: str | Style) -> Style:
    return Style.parse(style) if isinstance(style, str) else style
