"""A diff as styled lines: line numbers, signs, highlighted code and marked word changes.

Unified, or side by side on a wide terminal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from cinch_tui.rendering.code import Highlighter, height, lexer_for_path, shown_line, tops, wrapped
from cinch_tui.rendering.diff_rows import DiffRow, Pair, RowKind, diff_pairs, diff_rows
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.styles import DiffStyles
from harness.views import DiffView
from harness.workspace.hunks import Sides, changed_lines, hunks_of


class RowRenderer:
    """Styled text for the rows of one diff; a rejected hunk is shown without colors."""

    def __init__(self, view: DiffView, sides: Sides, styles: DiffStyles, review: Review | None = None) -> None:
        self._view = view
        self._sides = sides
        self._styles = styles
        self._review = review

    def base(self, row: DiffRow) -> Style:
        """Return the base style of the whole line."""
        styles = self._styles
        by_kind = {"added": styles.added, "removed": styles.removed, "context": styles.context}
        return styles.hunk if self._is_left_out(row) else by_kind.get(row.kind, styles.hunk)

    def code(self, row: DiffRow) -> Text:
        if row.kind == "removed":
            text, mark = self._old.line((row.old or 1) - 1), self._styles.removed_word
        elif row.kind in ("added", "context"):
            text, mark = self._new.line((row.new or 1) - 1), self._styles.added_word
        else:
            return Text(row.text)
        if text.plain != row.text:
            text = Text(row.text)  # a changed line is never truncated, and its long runs of blanks are counted
        if not row.words or self._is_left_out(row):
            return text
        text = text.copy()
        for start, end in row.words:
            text.stylize(mark, start, end)
        return text

    def head(self, row: DiffRow, width: int) -> Text:
        """Return the header line of a hunk."""
        review, number = self._review, row.hunk or 0
        is_current = review is not None and review.is_active and review.current == number
        line = Text(review.head(number) if review else "", style=self._styles.head, no_wrap=True, end="")
        if is_current:
            line.stylize(Style(reverse=True))
        line.truncate(max(1, width), overflow="ellipsis", pad=True)
        return line

    def _is_left_out(self, row: DiffRow) -> bool:
        return self._review is not None and row.hunk in self._review.rejected

    @cached_property
    def _old(self) -> Highlighter:
        return self._highlighter(self._sides.old)

    @cached_property
    def _new(self) -> Highlighter:
        return self._highlighter(self._sides.new)

    def _highlighter(self, lines: Sequence[str]) -> Highlighter:
        shown = [shown_line(line.removesuffix("\n")) for line in lines]
        return Highlighter(shown, lexer_for_path(self._view.path), self._styles.code)


def nothing_in(view: DiffView) -> str:
    """Return the text shown for a diff without rows."""
    if view.old is None:
        return "a new, empty file"
    return "deletes an empty file" if view.new is None else "no changes"


ALL_LINES = 1_000_000_000
"""Number of context lines with which nothing is folded."""

TWO_NUMBERS_FROM = 60
NUMBERS_FROM = 30
BETWEEN = "│"
_WIDE = ("gap", "head")
_SIGNS: dict[RowKind, str] = {"added": "+", "removed": "-", "context": " ", "gap": "⋯", "note": "\\", "head": ""}


class DiffOptions(Struct, frozen=True):
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


DEFAULT_OPTIONS = DiffOptions()
"""Only the changes, with a little context."""


class LineAnchor(Struct, frozen=True):
    """Line numbers on both sides, from 1, and their row in the layout; restores the position in a new layout."""

    old: int | None
    new: int | None
    row: int


class DiffLayout(ABC):
    """A diff laid out for a width; lines are highlighted and built on demand."""

    _tops: Sequence[int]
    """First line of each row, followed by the total height; set by subclasses."""

    def __init__(self, view: DiffView, width: int, styles: DiffStyles, options: DiffOptions) -> None:
        self._width = width
        self._styles = styles
        self._sides = Sides.of(view)
        self._renderer = RowRenderer(view, self._sides, styles, options.review)
        self._hunks = hunks_of(view) if options.review else ()

    def __len__(self) -> int:
        return self._tops[-1]

    @abstractmethod
    def line(self, y: int) -> Text:
        """Return a line of exactly the width."""

    @abstractmethod
    def _row(self, index: int) -> Pair:
        """Return the left and right side of a row."""

    def top_of(self, hunk: int) -> int:
        """Return the first line of a hunk."""
        for index, top in enumerate(self._tops[:-1]):
            left = self._row(index).left
            if left and left.kind == "head" and left.hunk == hunk:
                return top
        return 0

    def anchor(self, y: int) -> LineAnchor | None:
        """Return the first numbered row at or below a line."""
        first = bisect_right(self._tops, y) - 1
        for index, top in enumerate(self._tops[first:-1], first):
            old, new = self._numbers(index)
            if old or new:
                return LineAnchor(old, new, top)
        return None

    def row_of(self, anchor: LineAnchor) -> int:
        """Return the line of an anchor of another layout."""
        for index, top in enumerate(self._tops[:-1]):
            old, new = self._numbers(index)
            if (old and anchor.old and old >= anchor.old) or (new and anchor.new and new >= anchor.new):
                return top
        return self._tops[-1]

    def _numbers(self, index: int) -> tuple[int | None, int | None]:
        left, right = self._row(index).left, self._row(index).right
        return left and left.old, right and right.new


class UnifiedDiff(DiffLayout):
    """Removed lines above added lines."""

    def __init__(self, view: DiffView, width: int, styles: DiffStyles, options: DiffOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(view, max(1, width), styles, options)
        rows = diff_rows(self._sides, context=options.context, hunks=self._hunks)
        self._rows = rows or [DiffRow("note", nothing_in(view))]
        self._gutter = _Gutter.fitting(view, self._rows, self._width)
        self._room = max(1, self._width - self._gutter.width)
        self._tops = tops([height(row.text, self._room) for row in self._rows])
        self._wrapped: tuple[object, list[Text]] = (None, [])

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        row = self._rows[index]
        if row.kind == "head":
            return self._renderer.head(row, self._width)
        piece = self._pieces(index)[y - self._tops[index]]
        gutter = self._gutter.of(row) if y == self._tops[index] else " " * self._gutter.width
        line = Text(gutter, style=self._renderer.base(row), no_wrap=True, end="")
        line.stylize(self._styles.gutter, 0, self._gutter.width - 2)
        line.append_text(piece)
        line.truncate(self._width, overflow="crop", pad=True)
        return line

    def _row(self, index: int) -> Pair:
        return Pair(self._rows[index], self._rows[index])

    def _pieces(self, index: int) -> list[Text]:
        """Return the row wrapped; cached for the next line, since wrapping a very long row takes milliseconds."""
        row = self._rows[index]
        key = index, self._renderer.base(row)  # the style changes when a review rejects the row
        if key != self._wrapped[0]:
            self._wrapped = (key, wrapped(self._renderer.code(row), self._room))
        return self._wrapped[1]


class _Gutter(Struct, frozen=True):
    """Line numbers and sign; narrow terminals omit the numbers."""

    columns: int
    digits: int

    @classmethod
    def fitting(cls, view: DiffView, rows: Sequence[DiffRow], width: int) -> _Gutter:
        digits = len(str(max(max(row.old or 0, row.new or 0) for row in rows)))
        if width < NUMBERS_FROM:
            return cls(0, 0)
        one_sided = view.old is None or view.new is None
        return cls(1 if one_sided or width < TWO_NUMBERS_FROM else 2, digits)

    @property
    def width(self) -> int:
        return self.columns * (self.digits + 1) + 2

    def of(self, row: DiffRow) -> str:
        numbers = (row.old, row.new) if self.columns == 2 else (row.new or row.old,)
        shown = "".join(f"{number or '':>{self.digits}} " for number in numbers) if self.columns else ""
        return f"{shown}{_SIGNS[row.kind]} "


class SideBySide(DiffLayout):
    """The old file on the left, the new file on the right, corresponding lines aligned."""

    def __init__(self, view: DiffView, width: int, styles: DiffStyles, options: DiffOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(view, max(3, width), styles, options)
        empty = DiffRow("gap", nothing_in(view))
        self._pairs = diff_pairs(self._sides, context=options.context, hunks=self._hunks) or [Pair(empty, empty)]
        digits = len(str(max(len(self._sides.old), len(self._sides.new))))
        left = (self._width - len(BETWEEN)) // 2
        self._left = _Column(left, digits)
        self._right = _Column(self._width - len(BETWEEN) - left, digits)
        self._tops = tops([self._height(pair) for pair in self._pairs])

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        pair, part = self._pairs[index], y - self._tops[index]
        if pair.left and pair.left.kind == "head":
            return self._renderer.head(pair.left, self._width)
        if pair.left and pair.left.kind == "gap":
            return _full_line(f"{' ' * self._left.gutter}⋯ {pair.left.text}", self._width, self._styles)
        line = Text(no_wrap=True, end="")
        line.append_text(self._half(pair.left, self._left, part, pair.left and pair.left.old))
        line.append(BETWEEN, self._styles.gutter)
        line.append_text(self._half(pair.right, self._right, part, pair.right and pair.right.new))
        return line

    def _row(self, index: int) -> Pair:
        return self._pairs[index]

    def _height(self, pair: Pair) -> int:
        if pair.left and pair.left.kind in _WIDE:
            return 1
        sides = ((pair.left, self._left), (pair.right, self._right))
        return max(height(row.text, column.room) for row, column in sides if row)

    def _half(self, row: DiffRow | None, column: _Column, part: int, number: int | None) -> Text:
        if row is None:
            return Text(" " * column.width, style=self._styles.context)
        pieces = wrapped(self._renderer.code(row), column.room)
        gutter = " " * column.gutter
        if part == 0 and column.gutter:
            gutter = f"{number or '':>{column.digits}} {' ' if row.kind == 'note' else _SIGNS[row.kind]} "
        half = Text(gutter, style=self._renderer.base(row), no_wrap=True, end="")
        half.stylize(self._styles.gutter, 0, column.digits)
        if part < len(pieces):
            half.append_text(pieces[part])
        half.truncate(column.width, overflow="crop", pad=True)
        return half


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


def diff_lines(
    view: DiffView, width: int, styles: DiffStyles, *, context: int = 3, limit: int | None = None
) -> list[Text]:
    """Return the diff as lines of exactly `width` cells; after `limit` lines a last one counts the rest."""
    layout = diff_layout(view, width, styles, DiffOptions(context))
    shown = len(layout) if limit is None else min(limit, len(layout))
    lines = [layout.line(y) for y in range(shown)]
    if more := len(layout) - shown:
        lines.append(_full_line(f"… {more:,} more line{'' if more == 1 else 's'}", width, styles))
    return lines


def diff_layout(view: DiffView, width: int, styles: DiffStyles, options: DiffOptions = DEFAULT_OPTIONS) -> DiffLayout:
    """Lay the diff out for a width."""
    layout = SideBySide if options.is_split(view, width, styles.split_from) else UnifiedDiff
    return layout(view, width, styles, options)


def diff_stat(view: DiffView) -> tuple[int, int]:
    """Return the number of added and removed lines."""
    changes = changed_lines(Sides.of(view))
    added = sum(change.new_to - change.new_from for change in changes)
    return added, sum(change.old_to - change.old_from for change in changes)


def _full_line(text: str, width: int, styles: DiffStyles) -> Text:
    line = Text(text, style=styles.hunk, no_wrap=True, end="")
    line.truncate(max(1, width), overflow="crop", pad=True)
    return line
