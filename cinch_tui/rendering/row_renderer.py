"""Styles of diff rows: background, syntax highlighting and marked word changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rich.style import Style
from rich.text import Text

from cinch_tui.rendering.code import Highlighter, lexer_for_path, shown_line
from cinch_tui.rendering.diff_rows import Row
from cinch_tui.rendering.review import Review
from cinch_tui.rendering.styles import DiffStyles
from harness.views import DiffView
from harness.workspace.hunks import Sides


class Ink:
    """Styled text for the rows of one diff; a rejected hunk is shown without colors."""

    def __init__(self, view: DiffView, sides: Sides, styles: DiffStyles, review: Review | None = None) -> None:
        self._view = view
        self._sides = sides
        self._styles = styles
        self._review = review

    def base(self, row: Row) -> Style:
        """Return the base style of the whole line."""
        if self._is_left_out(row):
            return self._styles.hunk
        match row.kind:
            case "added":
                return self._styles.added
            case "removed":
                return self._styles.removed
            case "context":
                return self._styles.context
            case "gap" | "note" | "head":
                return self._styles.hunk

    def code(self, row: Row) -> Text:
        match row.kind:
            case "removed":
                text, mark = self._old.line((row.old or 1) - 1), self._styles.removed_word
            case "added" | "context":
                text, mark = self._new.line((row.new or 1) - 1), self._styles.added_word
            case "gap" | "note" | "head":
                return Text(row.text)
        if text.plain != row.text:
            text = Text(row.text)  # a changed line is never truncated, and its long runs of blanks are counted
        if not row.words or self._is_left_out(row):
            return text
        text = text.copy()
        for start, end in row.words:
            text.stylize(mark, start, end)
        return text

    def head(self, row: Row, width: int) -> Text:
        """Return the header line of a hunk."""
        review, number = self._review, row.hunk or 0
        is_current = review is not None and review.is_on and review.at == number
        line = Text(review.head(number) if review else "", style=self._styles.head, no_wrap=True, end="")
        if is_current:
            line.stylize(Style(reverse=True))
        line.truncate(max(1, width), overflow="ellipsis", pad=True)
        return line

    def _is_left_out(self, row: Row) -> bool:
        return self._review is not None and row.hunk in self._review.refused

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
