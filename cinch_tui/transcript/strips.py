"""Cache of painted rows, so that unchanged or moved rows are not painted again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

    from cinch_tui.transcript.layout import Row
    from cinch_tui.transcript.lines import Line


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

    def move(self, before: Sequence[Row], after: Sequence[Row]) -> None:
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


def _as_painted(row: Row, line: Line | None, strip: Strip | None) -> Strip | None:
    return strip if line is row.shown or line == row.shown else None
