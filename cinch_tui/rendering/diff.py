"""A diff as styled lines: line numbers, signs, highlighted code and marked word changes.

Unified, or side by side on a wide terminal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from cinch_tui.rendering.code import Lines, height, tops, wrapped
from cinch_tui.rendering.diff_rows import Row, RowKind, diff_rows
from cinch_tui.rendering.line_anchor import NumberedRows
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.row_renderer import Ink, nothing_in
from cinch_tui.rendering.side_by_side import SideBySide
from cinch_tui.rendering.styles import DiffStyles
from harness.views import DiffView
from harness.workspace.hunks import Sides, changed_lines, hunks_of

WHOLE = 1_000_000_000
"""Number of context lines with which nothing is folded."""

TWO_NUMBERS_FROM = 60
NUMBERS_FROM = 30
_SIGNS: dict[RowKind, str] = {"added": "+", "removed": "-", "context": " ", "gap": "⋯", "note": "\\", "head": ""}


class Shape(Struct, frozen=True):
    """Layout options of a diff."""

    context: int = 3
    """Unchanged lines shown around a change."""
    split: bool | None = None
    """Side by side; None: depends on the width."""
    review: Review | None = None
    """The user's decision about each hunk so far."""

    def is_split(self, view: DiffView, width: int, split_from: int) -> bool:
        both = view.old is not None and view.new is not None
        return both and (width >= split_from if self.split is None else self.split)


CHANGES = Shape()
"""Only the changes, with a little context."""


def diff_lines(
    view: DiffView, width: int, styles: DiffStyles, *, context: int = 3, limit: int | None = None
) -> list[Text]:
    """Return the diff as lines of exactly `width` cells; after `limit` lines a last one counts the rest."""
    layout = diff_layout(view, width, styles, Shape(context))
    shown = len(layout) if limit is None else min(limit, len(layout))
    lines = [layout.line(y) for y in range(shown)]
    if shown < len(layout):
        lines.append(_more(len(layout) - shown, width, styles))
    return lines


def diff_layout(view: DiffView, width: int, styles: DiffStyles, shape: Shape = CHANGES) -> Lines:
    """Lay the diff out for a width."""
    if shape.is_split(view, width, styles.split_from):
        return SideBySide(view, width, styles, context=shape.context, review=shape.review)
    return DiffLayout(view, width, styles, context=shape.context, review=shape.review)


def diff_stat(view: DiffView) -> tuple[int, int]:
    """Return the number of added and removed lines."""
    changes = changed_lines(Sides.of(view))
    added = sum(change.new_to - change.new_from for change in changes)
    return added, sum(change.old_to - change.old_from for change in changes)


class DiffLayout:
    """A unified diff laid out for a width; lines are highlighted and built on demand."""

    def __init__(
        self, view: DiffView, width: int, styles: DiffStyles, *, context: int = 3, review: Review | None = None
    ) -> None:
        self._width = max(1, width)
        self._styles = styles
        sides = Sides.of(view)
        self._ink = Ink(view, sides, styles, review)
        hunks = hunks_of(view) if review else ()
        self._rows = diff_rows(sides, context=context, hunks=hunks) or [Row("note", nothing_in(view))]
        self._gutter = _Gutter.fitting(view, self._rows, self._width)
        self._room = max(1, self._width - self._gutter.width)
        self._tops = tops([height(row.text, self._room) for row in self._rows])
        self._wrapped: tuple[object, list[Text]] = (None, [])

    def __len__(self) -> int:
        return self._tops[-1]

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        row = self._rows[index]
        if row.kind == "head":
            return self._ink.head(row, self._width)
        piece = self._pieces(index)[y - self._tops[index]]
        gutter = self._gutter.of(row) if y == self._tops[index] else " " * self._gutter.width
        line = Text(gutter, style=self._ink.base(row), no_wrap=True, end="")
        line.stylize(self._styles.gutter, 0, self._gutter.width - 2)
        line.append_text(piece)
        line.truncate(self._width, overflow="crop", pad=True)
        return line

    def _pieces(self, index: int) -> list[Text]:
        """Return the row wrapped; kept for the next line, since wrapping a very long row takes milliseconds."""
        row = self._rows[index]
        key = index, self._ink.base(row)  # its style changes when the review leaves it out
        if key != self._wrapped[0]:
            self._wrapped = (key, wrapped(self._ink.code(row), self._room))
        return self._wrapped[1]

    def top_of(self, hunk: int) -> int:
        """Return the first line of a hunk."""
        found = (index for index, row in enumerate(self._rows) if row.kind == "head" and row.hunk == hunk)
        return self._tops[next(found, 0)]

    @property
    def numbered(self) -> NumberedRows:
        return NumberedRows([(row.old, row.new) for row in self._rows], self._tops)


class _Gutter(Struct, frozen=True):
    """Line numbers and sign; narrow terminals omit the numbers."""

    columns: int
    digits: int

    @classmethod
    def fitting(cls, view: DiffView, rows: Sequence[Row], width: int) -> _Gutter:
        digits = len(str(max(max(row.old or 0, row.new or 0) for row in rows)))
        if width < NUMBERS_FROM:
            return cls(0, 0)
        one_sided = view.old is None or view.new is None
        return cls(1 if one_sided or width < TWO_NUMBERS_FROM else 2, digits)

    @property
    def width(self) -> int:
        return self.columns * (self.digits + 1) + 2

    def of(self, row: Row) -> str:
        numbers = (row.old, row.new) if self.columns == 2 else (row.new or row.old,)
        shown = "".join(f"{number or '':>{self.digits}} " for number in numbers) if self.columns else ""
        return f"{shown}{_SIGNS[row.kind]} "


def _more(count: int, width: int, styles: DiffStyles) -> Text:
    line = Text(f"… {count:,} more line{'' if count == 1 else 's'}", style=styles.hunk, no_wrap=True, end="")
    line.truncate(max(1, width), overflow="crop", pad=True)
    return line
