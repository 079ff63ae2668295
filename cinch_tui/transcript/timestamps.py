"""Time stamps and tags at the right edge of a block's first line or of the blank line above it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style

from cinch_tui.transcript.lines import Line, Run

if TYPE_CHECKING:
    from cinch_tui.transcript.block import Block
    from cinch_tui.transcript.layout import Layout, Row

ROOM = 7
"""Width in cells of a time of the same day, with separator."""


def stamped(rows: list[Row], layout: Layout) -> list[Row]:
    """Add stamps to rows that have room for them; the layout does not change."""
    return [_stamped(row, layout) for row in rows]


def _stamped(row: Row, layout: Layout) -> Row:
    place = _stamp_place(row.block, layout)
    if place != (row.part, row.number):
        return row
    tone = layout.look["warning" if row.block.tag else "muted"]
    for label in _labels(row.block, layout):
        if line := _with_stamp(row.line, (label, tone), layout):
            return row._replace(dressed=line)
    return row


def _stamp_place(block: Block, layout: Layout) -> tuple[int, int] | None:
    """Return part and line of a block's stamp: on the first line only if that line is always short."""
    if block.index < 0 or not (block.tag or _shows_time(block, layout)):
        return None
    first = layout.place_of(block)
    return (first.part, 0) if block.foldable or not first.part else (0, 0)


def _with_stamp(line: Line, stamp: Run, layout: Layout) -> Line | None:
    ground, (label, tone) = line.fill or layout.look.base, stamp
    room = layout.width - line.width - len(label)
    if room < 1:
        return None
    style = ground + Style(color=tone.color)
    return replace(line, segments=(*line.segments, Segment(" " * room, ground), Segment(label, style)))


def _labels(block: Block, layout: Layout) -> tuple[str, ...]:
    """Return the possible labels, longest first."""
    times = _times(block, layout) if _shows_time(block, layout) else ()
    return (*(f"{block.tag}  {each}" for each in times), block.tag) if block.tag else times


def _shows_time(block: Block, layout: Layout) -> bool:
    return layout.look.ways.stamps and bool(block.time)


def _times(block: Block, layout: Layout) -> tuple[str, ...]:
    then = time.localtime(block.time)
    before = layout.beside(block.index, -1, lambda other: bool(other.time))
    since = time.localtime(before.time) if before else time.localtime()
    short = time.strftime("%H:%M", then)
    return (short,) if then[:3] == since[:3] else (time.strftime("%Y-%m-%d %H:%M", then), short)
