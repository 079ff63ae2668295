"""Keyboard selection of lines in the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Offset
from textual.selection import Selection

from cinch_tui.transcript.layout import ScreenRow, row_key
from cinch_tui.transcript.searchable_list import SearchableList

if TYPE_CHECKING:
    from cinch_tui.transcript.block import TranscriptBlock
    from cinch_tui.transcript.layout import LinePosition


class SelectableList(SearchableList):
    """List with keyboard selection. It uses the screen's own selection, like the mouse, so that copying is shared."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._anchor: int | None = None
        self._head = 0

    @property
    def is_marking(self) -> bool:
        return self._anchor is not None

    def begin_marking(self, block: TranscriptBlock, key: int | None = None) -> None:
        """Start selecting at a line of a block: the line with `key` if visible, else its first visible or first line.

        Scroll keys extend the selection from then on.
        """
        page = self._layout
        first = page.place_of(block)
        seen = [row.key for row in self._rows if row.block is block]
        begins = row_key(block, first.part, first.line)
        if seen:
            begins = key if key in seen else max(begins, seen[0])
        self._anchor = self._head = begins
        self._mark(page.place_of_key(begins))

    def end_marking(self) -> None:
        """Clear the selection, made by key or mouse."""
        self._anchor = None
        self.screen.clear_selection()

    @property
    def marked_text(self) -> str:
        """Return the original text of the selection, made by key or mouse."""
        selection = self.text_selection
        return self._layout.selected_text(selection) if selection is not None else ""

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is None:
            self._anchor = None
        super().selection_updated(selection)

    def action_scroll_up(self) -> None:
        self._extend_selection(-1) if self.is_marking else super().action_scroll_up()

    def action_scroll_down(self) -> None:
        self._extend_selection(1) if self.is_marking else super().action_scroll_down()

    def action_page_up(self) -> None:
        self._extend_selection(1 - self.size.height) if self.is_marking else super().action_page_up()

    def action_page_down(self) -> None:
        self._extend_selection(self.size.height - 1) if self.is_marking else super().action_page_down()

    def _extend_selection(self, lines: int) -> None:
        page = self._layout
        place = page.place_of_key(self._head)
        place = page.below(place, lines) if lines > 0 else page.above(place, -lines)
        if place == page.end:
            place = page.above(page.end, 1)
        rows = page.rows(place, 1)
        if rows:
            self._head = rows[0].key
            self._mark(place)

    def _mark(self, place: LinePosition) -> None:
        assert self._anchor is not None, "marking has begun"
        low, high = sorted((self._anchor, self._head))
        rows: list[ScreenRow] = self._layout.rows(self._layout.place_of_key(high), 1)
        end = len(rows[0].line.text) if rows else 0
        self.screen.selections = {self: Selection(Offset(0, low), Offset(end, high))}
        self._scroll_to_line(place, above=1 if self._head == low else self.size.height - 2)
