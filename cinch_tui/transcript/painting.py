"""Lines as strips of cells, with selection and search highlights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.style import Style

    from cinch_tui.transcript.layout import Row
    from cinch_tui.transcript.lines import Line


class Marks(Struct, frozen=True):
    """Range of characters to highlight, and its style."""

    start: int
    end: int
    style: Style


def painted(line: Line, width: int, style: Style, marks: Sequence[Marks] = ()) -> Strip:
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


def changed_regions(before: Sequence[Row], after: Sequence[Row], width: int, *, with_marks: bool) -> list[Region]:
    """Return the regions that differ. `with_marks`: highlights may differ even if the text is equal."""
    regions: list[Region] = []
    for y, (ours, theirs) in enumerate(zip_longest(before, after)):
        if ours is None or theirs is None or (with_marks and ours != theirs):
            regions.append(Region(0, y, width, 1))
        elif ours.shown is not theirs.shown and ours.shown != theirs.shown:
            start, cells = difference(ours.shown, theirs.shown, width) if ours.key == theirs.key else (0, width)
            regions.append(Region(start, y, cells, 1))
    return regions


def difference(before: Line, after: Line, width: int) -> tuple[int, int]:
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


def marked(segments: Sequence[Segment], marks: Marks) -> list[Segment]:
    result: list[Segment] = []
    position = 0
    for text, style, _ in segments:
        low = min(max(0, marks.start - position), len(text))
        high = min(max(low, marks.end - position), len(text))
        chosen = marks.style if style is None else style + marks.style
        pieces = ((text[:low], style), (text[low:high], chosen), (text[high:], style))
        result.extend(Segment(piece, look) for piece, look in pieces if piece)
        position += len(text)
    return result
