"""Lines as strips of cells, with selection and search highlights, and a cache of painted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from msgspec import Struct
from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from cinch_tui.transcript.layout import ScreenRow
from cinch_tui.transcript.lines import StyledLine


class Highlight(Struct, frozen=True):
    """Range of characters to highlight, and its style."""

    start: int
    end: int
    style: Style


def paint_line(line: StyledLine, width: int, style: Style, marks: Sequence[Highlight] = ()) -> Strip:
    """Return the line as a strip of exactly `width` cells."""
    segments: Sequence[Segment] = line.segments
    for each in marks:
        segments = marked(segments, each)
    room = width - line.width
    if room < 0:
        return Strip(segments).crop(0, width).simplify()
    if room:
        segments = (*segments, Segment(" " * room, line.fill or style))
    # Segments of equal style are joined: each costs an escape sequence of about forty bytes.
    return Strip(Segment.simplify(segments), width)


def changed_regions(
    before: Sequence[ScreenRow], after: Sequence[ScreenRow], width: int, *, with_marks: bool
) -> list[Region]:
    """Return the regions that differ. `with_marks`: highlights may differ even if the text is equal."""
    regions: list[Region] = []
    for y, (ours, theirs) in enumerate(zip_longest(before, after)):
        if ours is None or theirs is None or (with_marks and ours != theirs):
            regions.append(Region(0, y, width, 1))
        elif ours.shown is not theirs.shown and ours.shown != theirs.shown:
            start, cells = difference(ours.shown, theirs.shown, width) if ours.key == theirs.key else (0, width)
            regions.append(Region(start, y, cells, 1))
    return regions


def difference(before: StyledLine, after: StyledLine, width: int) -> tuple[int, int]:
    """Return the start column and width in which two lines differ."""
    # Textual may separate a character from its combining marks when cropping.
    if before.fill != after.fill or _combines(before.text) or _combines(after.text):
        return 0, width
    start = 0
    for ours, theirs in zip(before.segments, after.segments, strict=False):
        if ours != theirs:
            start += _same_cells(ours, theirs)
            break
        start += ours.cell_length
    return start, max(1, min(width, max(before.width, after.width)) - start)


def _combines(text: str) -> bool:
    return not text.isascii() and any(not get_character_cell_size(character) for character in text)


def _same_cells(before: Segment, after: Segment) -> int:
    if before.style != after.style:
        return 0
    pairs = zip(before.text, after.text, strict=False)
    same = next((index for index, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
    return cell_len(before.text[:same] if same is not None else min(before.text, after.text, key=len))


def marked(segments: Sequence[Segment], marks: Highlight) -> list[Segment]:
    result: list[Segment] = []
    position = 0
    for text, style, _ in segments:
        low = min(max(0, marks.start - position), len(text))
        high = min(max(low, marks.end - position), len(text))
        chosen = marks.style if style is None else style + marks.style
        pieces = ((text[:low], style), (text[low:high], chosen), (text[high:], style))
        result.extend(Segment(piece, style) for piece, style in pieces if piece)
        position += len(text)
    return result


class Strips:
    """Painted strips by screen row; None if the row must be painted."""

    def __init__(self) -> None:
        self._strips: list[Strip | None] = []
        self._width = 0

    def fit(self, width: int) -> None:
        """Invalidate all rows if the width changed."""
        if width != self._width:
            self._width = width
            self.forget()

    def forget(self, regions: Sequence[Region] = ()) -> None:
        """Invalidate the rows in these regions, or all."""
        if not regions:
            self._strips.clear()
        for y in {y for region in regions for y in region.line_range}:
            if y < len(self._strips):
                self._strips[y] = None

    def move(self, before: Sequence[ScreenRow], after: Sequence[ScreenRow]) -> None:
        """Move painted strips to the new positions of their rows."""
        painted = {row.key: (row.shown, strip) for row, strip in zip(before, self._strips, strict=False)}
        self._strips = [_as_painted(row, *painted.get(row.key, (None, None))) for row in after]

    def cut(self, crop: Region, paint: Callable[[int], Strip]) -> list[Strip]:
        """Return these rows, painting missing ones."""
        missing = crop.bottom - len(self._strips)
        if missing > 0:
            self._strips += [None] * missing
        strips: list[Strip] = []
        for y, kept in enumerate(self._strips[crop.y : crop.bottom], crop.y):
            if kept is None:
                self._strips[y] = kept = paint(y)
            strips.append(kept)
        start, end = crop.column_span
        return [strip.crop(start, end) for strip in strips]


def _as_painted(row: ScreenRow, line: StyledLine | None, strip: Strip | None) -> Strip | None:
    return strip if line is row.shown or line == row.shown else None
