"""The line of a file at a row of a diff, to find it again after the diff was laid out differently."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LineAnchor:
    """Line numbers on either side, counted from 1, and the row of the layout where they stand."""

    old: int | None
    new: int | None
    row: int


class NumberedRows:
    """`numbers` are the line numbers of each row group, `tops` the rows where the groups begin, and one more."""

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
