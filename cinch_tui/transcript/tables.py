"""Markdown tables fitted to a width."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from cinch_tui.transcript.lines import BLANK, Run, StyledLine, wrap_runs
from cinch_tui.transcript.styles import BlockStyles

BETWEEN = " │ "
NARROWEST = 4


def table_lines(
    rows: Sequence[Sequence[list[Run]]], alignments: Sequence[str], styles: BlockStyles, width: int
) -> list[StyledLine]:
    """Return the rows, the first one as header, in columns that share the width."""
    if not rows or not rows[0]:
        return []
    header = styles["table-header"]
    styled = [[[(text, style + header) for text, style in cell] for cell in rows[0]], *rows[1:]]
    if width < len(rows[0]) * (NARROWEST + len(BETWEEN)) - len(BETWEEN):
        return _records(styled, styles, width)
    widths = _column_widths(styled, width)
    rule = styles.on_base("rule")
    drawn = [_row_lines(row, widths, alignments, styles) for row in styled]
    under = StyledLine((Segment("─┼─".join("─" * width for width in widths), rule),))
    return [*drawn[0], under, *(line for lines in drawn[1:] for line in lines)]


def _records(rows: Sequence[Sequence[list[Run]]], styles: BlockStyles, width: int) -> list[StyledLine]:
    """Draw a table with too many columns row by row, each value after its column name."""
    between = (": ", styles.base)
    rule = StyledLine((Segment("─" * width, styles.on_base("rule")),))
    lines: list[StyledLine] = []
    for row in rows[1:] or rows:
        lines.append(rule)
        for name, value in zip(rows[0], row, strict=True):
            lines.extend(wrap_runs([*name, between, *value], width))
    return [*lines, rule]


def _column_widths(rows: Sequence[Sequence[list[Run]]], width: int) -> list[int]:
    columns = len(rows[0])
    natural = [
        max((line.width for row in rows for line in wrap_runs(row[column], 10_000)), default=1) or 1
        for column in range(columns)
    ]
    room = max(columns * NARROWEST, width - len(BETWEEN) * (columns - 1))
    # Shrink the widest column first, so that short columns keep their words unbroken.
    while sum(natural) > room:
        widest = max(natural)
        second = max((value for value in natural if value < widest), default=NARROWEST)
        count = natural.count(widest)
        excess = sum(natural) - room
        lowered = max(second, widest - -(-excess // count), 1)
        natural = [lowered if value == widest else value for value in natural]
        if lowered == widest:
            break
    return natural


def _row_lines(
    row: Sequence[list[Run]], widths: Sequence[int], alignments: Sequence[str], styles: BlockStyles
) -> list[StyledLine]:
    cells = [wrap_runs(cell, width) for cell, width in zip(row, widths, strict=True)]
    separator = Segment(BETWEEN, styles.on_base("rule"))
    lines: list[StyledLine] = []
    for index in range(max(map(len, cells))):
        segments: list[Segment] = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            if column:
                segments.append(separator)
            line = cell[index] if index < len(cell) else BLANK
            left, right = _pads(width - line.width, alignments[column])
            if column == len(cells) - 1:
                # No trailing blanks in copied lines.
                right = ""
            segments.extend((Segment(left, styles.base), *line.segments, Segment(right, styles.base)))
        lines.append(StyledLine(tuple(segment for segment in segments if segment.text)))
    return lines


def _pads(room: int, alignment: str) -> tuple[str, str]:
    left = {"right": room, "center": room // 2}.get(alignment, 0)
    return " " * left, " " * (room - left)
