"""Item heights with prefix sums in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate


class Heights:
    """Binary indexed tree (Fenwick tree) over the heights of a growing list."""

    __slots__ = ("_sums", "_values", "total")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values: list[int] = list(values)
        totals = [0, *accumulate(self._values)]
        # A node sums the values between its parent's position and its own.
        self._sums: list[int] = [0, *(totals[place] - totals[place & (place - 1)] for place in range(1, len(totals)))]
        self.total = totals[-1]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def extend(self, values: Iterable[int]) -> None:
        for value in values:
            self._values.append(value)
            self.total += value
            place = len(self._values)
            self._sums.append(self.total - self.before(place & (place - 1)))

    def __setitem__(self, index: int, value: int) -> None:
        difference = value - self._values[index]
        if not difference:
            return
        self._values[index] = value
        self.total += difference
        place = index + 1
        while place < len(self._sums):
            self._sums[place] += difference
            place += place & -place

    def truncate(self, count: int) -> None:
        """Remove all but the first `count` items."""
        while len(self._values) > count:
            self.total -= self._values.pop()
            self._sums.pop()

    def before(self, index: int) -> int:
        """Return the sum of all heights before the item at `index`."""
        place = min(index, len(self._values))
        result = 0
        while place:
            result += self._sums[place]
            place &= place - 1
        return result

    def find(self, row: int) -> tuple[int, int]:
        """Return the item at `row` and the row inside it; past the end, the last item and its last row."""
        if row >= self.total:
            last = max(0, len(self._values) - 1)
            return last, max(0, self._values[last] - 1) if self._values else 0
        place, rest = 0, max(0, row)
        step = 1 << len(self._values).bit_length()
        while step:
            following = place + step
            if following < len(self._sums) and self._sums[following] <= rest:
                place = following
                rest -= self._sums[following]
            step >>= 1
        return place, rest
