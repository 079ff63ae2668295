"""Decorations of visible rows that are not part of the text: time stamps, tags and the cursor of a streamed reply."""

from __future__ import annotations

import time

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.layout import Layout, ScreenRow
from cinch_tui.transcript.replies import StreamedBlock

ROOM = 7
"""Width in cells of a time of the same day, with separator."""


def stamped(rows: list[ScreenRow], layout: Layout) -> list[ScreenRow]:
    """Add stamps to rows that have room for them; the layout does not change."""
    return [_stamped(row, layout) for row in rows]


def _stamped(row: ScreenRow, layout: Layout) -> ScreenRow:
    block, line, styles = row.block, row.line, layout.styles
    shows_time = styles.options.stamps and bool(block.time)
    if block.index < 0 or not (block.tag or shows_time):
        return row
    # The header of a foldable block is always short; other stamps are on the blank line before the text.
    if (row.part, row.number) != (layout.place_of(block).part if block.foldable else 0, 0):
        return row
    labels = _times(block, layout) if shows_time else ()
    if block.tag:
        labels = (*(f"{block.tag}  {each}" for each in labels), block.tag)
    room = layout.width - line.width
    label = next((label for label in labels if len(label) < room), "")
    if not label:
        return row
    ground = line.fill or styles.base
    tone = ground + Style(color=styles["warning" if block.tag else "muted"].color)
    stamp = Segment(" " * (room - len(label)), ground), Segment(label, tone)
    return row._replace(decorated=replace(line, segments=(*line.segments, *stamp)))


def _times(block: TranscriptBlock, layout: Layout) -> tuple[str, ...]:
    """Return the time of a block in all lengths, longest first."""
    then = time.localtime(block.time)
    before = layout.neighbor(block.index, -1, lambda other: bool(other.time))
    since = time.localtime(before.time) if before else time.localtime()
    short = time.strftime("%H:%M", then)
    return (short,) if then[:3] == since[:3] else (time.strftime("%Y-%m-%d %H:%M", then), short)


CARET = "▍"


def with_caret(rows: list[ScreenRow], layout: Layout) -> list[ScreenRow]:
    """Return the rows with a cursor behind the last line of the streamed reply, if it is visible."""
    index = next((index for index in reversed(range(len(rows))) if _is_streamed(rows[index].block)), None)
    if index is None or not _is_last_line(rows[index], layout):
        return rows
    row = rows[index]
    if row.decorated is not None or row.line.width >= layout.width:
        return rows
    # In the style of the text: a separate style would cost an escape sequence per frame.
    style = row.line.segments[-1].style if row.line.segments else layout.styles.base
    line = replace(row.line, segments=(*row.line.segments, Segment(CARET, style)))
    return [*rows[:index], row._replace(decorated=line), *rows[index + 1 :]]


def _is_streamed(block: TranscriptBlock) -> bool:
    return isinstance(block, StreamedBlock) and block.growing


def _is_last_line(row: ScreenRow, layout: Layout) -> bool:
    parts = row.block.parts
    return row.part == len(parts) - 1 and row.number == len(parts[-1].lines(layout.styles, layout.width)) - 1
