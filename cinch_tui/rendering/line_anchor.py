"""The file line at a row of a diff, to restore the scroll position after a new layout."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct


class LineAnchor(Struct, frozen=True):
    """Line numbers on both sides, from 1, and their row in the layout."""

    old: int | None
    new: int | None
    row: int


class NumberedRows:
    """Lookup between rows and line numbers.

    Args:
        numbers: old and new line number of each row group.
        tops: first row of each group, followed by the total height.
    """

    def __init__(self, numbers: Sequence[tuple[int | None, int | None]], tops: Sequence[int]) -> None:
        self._numbers = numbers
        self._tops = tops

    def anchor(self, row: int) -> LineAnchor | None:
        first = bisect_right(self._tops, row) - 1
        for index in range(first, len(self._numbers)):
            old, new = self._numbers[index]
            if old or new:
                return LineAnchor(old, new, self._tops[index])
        return None

    def row_of(self, anchor: LineAnchor) -> int:
        for index, (old, new) in enumerate(self._numbers):
            if (old and anchor.old and old >= anchor.old) or (new and anchor.new and new >= anchor.new):
                return self._tops[index]
        return self._tops[-1]
