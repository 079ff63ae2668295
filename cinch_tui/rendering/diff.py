"""A diff as styled lines: numbers, `+` and `-`, highlighted code, the changed words marked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.style import Style
from rich.text import Text

from cinch_tui.rendering.code import (
    Highlighter,
    height,
    lexer_for_path,
    shown_line,
    tops,
    wrapped,
)
from cinch_tui.rendering.hunks import Row, RowKind, diff_rows
from cinch_tui.rendering.styles import DiffStyles
from harness.hunks import Sides, changed_lines
from harness.views import DiffView

TWO_NUMBERS_FROM = 60
NUMBERS_FROM = 30
_SIGNS: dict[RowKind, str] = {"added": "+", "removed": "-", "context": " ", "gap": "⋯", "note": "\\"}


def diff_lines(
    view: DiffView, width: int, styles: DiffStyles, *, context: int = 3, limit: int | None = None
) -> list[Text]:
    """The diff in lines of exactly `width` cells; at `limit` lines a last one says how many are left out."""
    layout = DiffLayout(view, width, styles, context=context)
    shown = len(layout) if limit is None else min(limit, len(layout))
    lines = [layout.line(y) for y in range(shown)]
    if shown < len(layout):
        lines.append(_more(len(layout) - shown, width, styles))
    return lines


def diff_stat(view: DiffView) -> tuple[int, int]:
    """How many lines were added, and how many removed."""
    changes = changed_lines(Sides.of(view))
    added = sum(change.new_to - change.new_from for change in changes)
    return added, sum(change.old_to - change.old_from for change in changes)


class DiffLayout:
    """A diff laid out for a width; a line is highlighted and built when it is asked for."""

    def __init__(self, view: DiffView, width: int, styles: DiffStyles, *, context: int = 3) -> None:
        self._view = view
        self._width = max(1, width)
        self._styles = styles
        self._sides = Sides.of(view)
        self._rows = diff_rows(self._sides, context=context) or [Row("note", _nothing(view))]
        self._gutter = _Gutter.fitting(view, self._rows, self._width)
        self._room = max(1, self._width - self._gutter.width)
        self._tops = tops([height(row.text, self._room) for row in self._rows])

    def __len__(self) -> int:
        return self._tops[-1]

    def line(self, y: int) -> Text:
        index = bisect_right(self._tops, y) - 1
        row = self._rows[index]
        piece = wrapped(self._code(row), self._room)[y - self._tops[index]]
        gutter = self._gutter.of(row) if y == self._tops[index] else " " * self._gutter.width
        line = Text(gutter, style=self._base(row), no_wrap=True, end="")
        line.stylize(self._styles.gutter, 0, self._gutter.width - 2)
        line.append_text(piece)
        line.truncate(self._width, overflow="crop", pad=True)
        return line

    def _base(self, row: Row) -> Style:
        match row.kind:
            case "added":
                return self._styles.added
            case "removed":
                return self._styles.removed
            case "context":
                return self._styles.context
            case "gap" | "note":
                return self._styles.hunk

    def _code(self, row: Row) -> Text:
        match row.kind:
            case "removed":
                text, mark = self._old.line((row.old or 1) - 1), self._styles.removed_word
            case "added" | "context":
                text, mark = self._new.line((row.new or 1) - 1), self._styles.added_word
            case "gap" | "note":
                return Text(row.text)
        if not row.words:
            return text
        text = text.copy()
        for start, end in row.words:
            text.stylize(mark, start, end)
        return text

    @cached_property
    def _old(self) -> Highlighter:
        return self._highlighter(self._sides.old)

    @cached_property
    def _new(self) -> Highlighter:
        return self._highlighter(self._sides.new)

    def _highlighter(self, lines: Sequence[str]) -> Highlighter:
        shown = [shown_line(line.removesuffix("\n")) for line in lines]
        return Highlighter(shown, lexer_for_path(self._view.path), self._styles.code)


@dataclass(frozen=True, slots=True)
class _Gutter:
    """Line numbers and sign; the numbers give way on a narrow screen."""

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


def _nothing(view: DiffView) -> str:
    if view.old is None:
        return "a new, empty file"
    return "an empty file goes" if view.new is None else "no changes"


def _more(count: int, width: int, styles: DiffStyles) -> Text:
    line = Text(f"… {count:,} more line{'' if count == 1 else 's'}", style=styles.hunk, no_wrap=True, end="")
    line.truncate(max(1, width), overflow="crop", pad=True)
    return line
