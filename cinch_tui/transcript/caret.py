"""Cursor at the end of a streamed reply.

It is painted together with the changed text and needs no timer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.segment import Segment

if TYPE_CHECKING:
    from cinch_tui.transcript.layout import Layout, Row

CARET = "▍"


def with_caret(rows: list[Row], layout: Layout) -> list[Row]:
    """Return the rows with a cursor behind the last line of the streamed reply, if it is visible."""
    index = next((index for index in reversed(range(len(rows))) if rows[index].block.is_streaming), None)
    if index is None or not _is_last_line(rows[index], layout):
        return rows
    row = rows[index]
    if row.dressed is not None or row.line.width >= layout.width:
        return rows
    # In the style of the text: a separate style would cost an escape sequence per frame.
    style = row.line.segments[-1].style if row.line.segments else layout.look.base
    line = replace(row.line, segments=(*row.line.segments, Segment(CARET, style)))
    return [*rows[:index], row._replace(dressed=line), *rows[index + 1 :]]


def _is_last_line(row: Row, layout: Layout) -> bool:
    parts = row.block.parts
    return row.part == len(parts) - 1 and row.number == len(parts[-1].lines(layout.look, layout.width)) - 1
