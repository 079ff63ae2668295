"""Decorations of visible rows that are not part of the text: time stamps, tags and the cursor of a streamed reply."""

from __future__ import annotations

import time

from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.layout import Layout, ScreenRow
from cinch_tui.transcript.lines import Run, StyledLine
from cinch_tui.transcript.replies import StreamedBlock

ROOM = 7
"""Width in cells of a time of the same day, with separator."""


def stamped(rows: list[ScreenRow], layout: Layout) -> list[ScreenRow]:
    """Add stamps to rows that have room for them; the layout does not change."""
    return [_stamped(row, layout) for row in rows]


def _stamped(row: ScreenRow, layout: Layout) -> ScreenRow:
    place = _stamp_place(row.block, layout)
    if place != (row.part, row.number):
        return row
    tone = layout.styles["warning" if row.block.tag else "muted"]
    for label in _labels(row.block, layout):
        if line := _with_stamp(row.line, (label, tone), layout):
            return row._replace(decorated=line)
    return row


def _stamp_place(block: TranscriptBlock, layout: Layout) -> tuple[int, int] | None:
    """Return part and line of a block's stamp: on the first line only if that line is always short."""
    if block.index < 0 or not (block.tag or _shows_time(block, layout)):
        return None
    first = layout.place_of(block)
    return (first.part, 0) if block.foldable or not first.part else (0, 0)


def _with_stamp(line: StyledLine, stamp: Run, layout: Layout) -> StyledLine | None:
    ground, (label, tone) = line.fill or layout.styles.base, stamp
    room = layout.width - line.width - len(label)
    if room < 1:
        return None
    style = ground + Style(color=tone.color)
    return replace(line, segments=(*line.segments, Segment(" " * room, ground), Segment(label, style)))


def _labels(block: TranscriptBlock, layout: Layout) -> tuple[str, ...]:
    """Return the possible labels, longest first."""
    times = _times(block, layout) if _shows_time(block, layout) else ()
    return (*(f"{block.tag}  {each}" for each in times), block.tag) if block.tag else times


def _shows_time(block: TranscriptBlock, layout: Layout) -> bool:
    return layout.styles.options.stamps and bool(block.time)


def _times(block: TranscriptBlock, layout: Layout) -> tuple[str, ...]:
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
