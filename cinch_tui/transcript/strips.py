"""The rows of a view as they were painted, so that what stays or only moves is not painted again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.strip import Strip

    from cinch_tui.transcript.layout import Row
    from cinch_tui.transcript.lines import Line


class Strips:
    """By their place on the screen; None is what must be painted."""

    def __init__(self) -> None:
        self._strips: list[Strip | None] = []
        self._width = 0

    def fit(self, width: int) -> None:
        """In another width all are painted anew, even what is blank."""
        if width != self._width:
            self._width = width
            self.forget()

    def forget(self, regions: Sequence[Region] = ()) -> None:
        """All of them, unless it is told which."""
        if not regions:
            self._strips.clear()
        for y in {y for region in regions for y in region.line_range}:
            if y < len(self._strips):
                self._strips[y] = None

    def move(self, before: Sequence[Row], after: Sequence[Row]) -> None:
        """What was painted goes to where its row is now."""
        painted = {row.key: (row.shown, strip) for row, strip in zip(before, self._strips, strict=False)}
        self._strips = [_as_painted(row, *painted.get(row.key, (None, None))) for row in after]

    def cut(self, crop: Region, paint: Callable[[int], Strip]) -> list[Strip]:
        """These rows, painted where they are not."""
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
