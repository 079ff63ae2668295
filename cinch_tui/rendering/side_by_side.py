"""A diff in two columns: old file on the left, new file on the right, corresponding lines aligned."""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct
from rich.text import Text

from cinch_tui.rendering.code import height, tops, wrapped
from cinch_tui.rendering.diff_rows import Pair, Row, diff_pairs
from cinch_tui.rendering.line_anchor import NumberedRows
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.row_renderer import Ink, nothing_in
from cinch_tui.rendering.styles import DiffStyles
from harness.views import DiffView
from harness.workspace.hunks import Sides, hunks_of

BETWEEN = "│"
_SIGNS = {"added": "+", "removed": "-"}
_WIDE = ("gap", "head")


class _Column(Struct, frozen=True):
    """Width of one side; longer lines are wrapped."""

    width: int
    digits: int

    @property
    def gutter(self) -> int:
        return self.digits + 3 if self.width > 2 * self.digits + 6 else 0

    @property
    def room(self) -> int:
        return max(1, self.width - self.gutter)


class SideBySide:
    """A side-by-side diff laid out for a width; lines are highlighted and built on demand."""

    def __init__(
        self, view: DiffView, width: int, styles: DiffStyles, *, context: int = 3, review: Review | None = None
    ) -> None:
        self._width = max(3, width)
        self._styles = styles
        sides = Sides.of(view)
        self._ink = Ink(view, sides, styles, review)
        hunks = hunks_of(view) if review else ()
        empty = Row("gap", nothing_in(view))
        self._pairs = diff_pairs(sides, context=context, hunks=hunks) or [Pair(empty, empty)]
        digits = len(str(max(len(sides.old), len(sides.new))))
        left = (self._width - len(BETWEEN)) // 2
        self._left = _Column(left, digits)
        self._right = _Column(self._width - len(BETWEEN) - left, digits)
        self._tops = tops([self._height(pair) for pair in self._pairs])

    def __len__(self) -> int:
        return self._tops[-1]

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        pair, part = self._pairs[index], y - self._tops[index]
        if pair.left and pair.left.kind == "head":
            return self._ink.head(pair.left, self._width)
        if pair.left and pair.left.kind == "gap":
            return self._gap(pair.left)
        line = Text(no_wrap=True, end="")
        line.append_text(self._half(pair.left, self._left, part, pair.left and pair.left.old))
        line.append(BETWEEN, self._styles.gutter)
        line.append_text(self._half(pair.right, self._right, part, pair.right and pair.right.new))
        return line

    def top_of(self, hunk: int) -> int:
        """Return the first line of a hunk."""
        heads = (
            index
            for index, pair in enumerate(self._pairs)
            if pair.left and pair.left.kind == "head" and pair.left.hunk == hunk
        )
        return self._tops[next(heads, 0)]

    @property
    def numbered(self) -> NumberedRows:
        numbers = [(pair.left and pair.left.old, pair.right and pair.right.new) for pair in self._pairs]
        return NumberedRows(numbers, self._tops)

    def _height(self, pair: Pair) -> int:
        if pair.left and pair.left.kind in _WIDE:
            return 1
        sides = ((pair.left, self._left), (pair.right, self._right))
        return max(height(row.text, column.room) for row, column in sides if row)

    def _gap(self, row: Row) -> Text:
        line = Text(f"{' ' * self._left.gutter}⋯ {row.text}", style=self._styles.hunk, no_wrap=True, end="")
        line.truncate(self._width, overflow="crop", pad=True)
        return line

    def _half(self, row: Row | None, column: _Column, part: int, number: int | None) -> Text:
        if row is None:
            return Text(" " * column.width, style=self._styles.context)
        pieces = wrapped(self._ink.code(row), column.room)
        gutter = " " * column.gutter
        if part == 0 and column.gutter:
            gutter = f"{number or '':>{column.digits}} {_SIGNS.get(row.kind, ' ')} "
        half = Text(gutter, style=self._ink.base(row), no_wrap=True, end="")
        half.stylize(self._styles.gutter, 0, column.digits)
        if part < len(pieces):
            half.append_text(pieces[part])
        half.truncate(column.width, overflow="crop", pad=True)
        return half
