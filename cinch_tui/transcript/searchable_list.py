"""Transcript list with incremental search and keyboard selection of lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import perf_counter

from textual.geometry import Offset
from textual.selection import Selection

from cinch_tui.data_message import DataMessage
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.layout import LinePosition, ScreenRow, row_key
from cinch_tui.transcript.painting import Highlight
from cinch_tui.transcript.search import Search
from cinch_tui.transcript.virtual_list import SLICE, VirtualList

# Pause between two time slices, in which keys are handled.
PAUSE = 0.001


class SearchableList(VirtualList):
    """List with search, also of added and changed blocks, and keyboard selection.

    A selection is the screen's own, as made by the mouse, so that copying is shared.
    """

    class Found(DataMessage, namespace="transcript"):
        """Search result: the selected match `number`, from 1, of `total`; 0 of 0 if none."""

        number: int
        total: int
        is_done: bool

    _search: Search | None = None
    _start_key: int | None = None
    """Key of the top line when the search began; None at the end."""
    _unfolded: TranscriptBlock | None = None
    _anchor: int | None = None
    _head = 0

    def extend(self, blocks: Iterable[TranscriptBlock]) -> None:
        added = tuple(blocks)
        super().extend(added)
        self._enqueue(added)

    def prepend(self, blocks: Sequence[TranscriptBlock], heights: Heights | None = None) -> None:
        super().prepend(blocks, heights)
        self._enqueue(blocks)

    def changed(self, block: TranscriptBlock) -> None:
        super().changed(block)
        self._enqueue((block,))

    def drop(self, block: TranscriptBlock) -> None:
        if self._search is not None:
            self._search.forget(block)
        super().drop(block)

    def clear(self) -> None:
        if self._search is not None:
            self._search.empty()
        self._start_key = self._unfolded = None
        super().clear()

    def find(self, query: str) -> None:
        """Search from the scroll position at the start of the search; an empty query finds nothing."""
        if self._search is None:
            self._search = Search(self._layout)
            index, part, line = self._top
            is_at_end = self.following or index >= len(self.blocks)
            self._start_key = None if is_at_end else row_key(self.blocks[index], part, line)
        self._refold(None)
        self._search.find(query, self._last_seen())
        self._start_search()

    def find_next(self, step: int) -> None:
        """Select the next (1) or previous (-1) match."""
        if self._search is not None:
            self._search.step(step)
            self._show_match()

    def end_search(self, *, stay: bool) -> None:
        """Remove the highlights; keep the scroll position or restore the one before the search."""
        if self._search is None:
            return
        self._search = None
        if stay:
            self._unfolded = None
        else:
            self._refold(None)
            self._restore_position()
        self.refresh()

    def _enqueue(self, blocks: Sequence[TranscriptBlock]) -> None:
        if self._search is not None and self._search.enqueue(blocks):
            self._start_search()

    def _start_search(self) -> None:
        self.run_worker(self._find_all, group="search", exclusive=True)

    async def _find_all(self) -> None:
        """Search all blocks in slices and show the first match as soon as it is found."""
        search = self._search
        more, shown = True, search is not None and search.current is not None
        while more and search is not None and search is self._search:
            more = search.search_until(perf_counter() + SLICE)
            if search.current is not None and not shown:
                shown = True
                self._show_match()
            elif more or search.current is not None:
                self._report(is_done=not more)
            else:
                self._restore_position()
                self._report(is_done=True)
            await asyncio.sleep(PAUSE)
        self.refresh()

    def _report(self, *, is_done: bool = True) -> None:
        if self._search is not None:
            self.post_message(self.Found(self._search.position, self._search.total, is_done))

    def _show_match(self) -> None:
        search = self._search
        if search is None or search.current is None:
            return
        block = search.current.block
        self._refold(block)
        place = search.locate()
        if place is None and block.foldable and block.folded:
            self._unfolded = block
            self._fold(block, folded=False)
            place = search.locate()
        self._scroll_to_line(place or self._layout.place_of(block))
        self._report()
        self.refresh()

    def _refold(self, block: TranscriptBlock | None) -> None:
        """Fold the block that the search unfolded, unless it is `block`."""
        if self._unfolded is not None and self._unfolded is not block:
            self._fold(self._unfolded, folded=True)
            self._unfolded = None

    def _fold(self, block: TranscriptBlock, *, folded: bool) -> None:
        block.folded = folded
        self.fold_changed(block)
        self._absorb(perf_counter() + SLICE)

    def _restore_position(self) -> None:
        if self._start_key is None:
            self.follow()
            return
        self.following = False
        self._top = self._layout.place_of_key(self._start_key)
        self._schedule()

    def _last_seen(self) -> int:
        """Return the index of the last block visible when the search began."""
        start = self._start_key
        rows = self._layout.rows(self._layout.place_of_key(start), self.size.height) if start is not None else []
        return rows[-1].block.index if rows else len(self.blocks) - 1

    @property
    def _has_highlights(self) -> bool:
        return super()._has_highlights or self._search is not None

    def _highlights(self, row: ScreenRow) -> list[Highlight]:
        found = self._search.highlights(row) if self._search is not None else []
        return [*found, *super()._highlights(row)]

    def _scroll_to_line(self, place: LinePosition, above: int | None = None) -> None:
        """Scroll to a line unless it is visible, with `above` lines above it."""
        visible = [row.key for row in self._rows]
        if visible and visible[0] <= row_key(self.blocks[place.block], place.part, place.line) <= visible[-1]:
            return
        self.following = False
        self._top = self._layout.above(place, self.size.height // 3 if above is None else above)
        self._schedule()

    @property
    def is_marking(self) -> bool:
        return self._anchor is not None

    def begin_marking(self, block: TranscriptBlock, key: int | None = None) -> None:
        """Start selecting at a line of a block: the line with `key` if visible, else its first visible or first line.

        Scroll keys extend the selection from then on.
        """
        first = self._layout.place_of(block)
        visible = [row.key for row in self._rows if row.block is block]
        start = row_key(block, first.part, first.line)
        if visible:
            start = key if key in visible else max(start, visible[0])
        self._anchor = self._head = start
        self._mark(self._layout.place_of_key(start))

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

    def _scroll_by(self, lines: int) -> None:
        if not self.is_marking:
            super()._scroll_by(lines)
            return
        place = self._layout.place_of_key(self._head)
        place = self._layout.below(place, lines) if lines > 0 else self._layout.above(place, -lines)
        if place == self._layout.end:
            place = self._layout.above(place, 1)
        if rows := self._layout.rows(place, 1):
            self._head = rows[0].key
            self._mark(place)

    def _mark(self, place: LinePosition) -> None:
        assert self._anchor is not None, "marking has begun"
        low, high = sorted((self._anchor, self._head))
        rows = self._layout.rows(self._layout.place_of_key(high), 1)
        end = len(rows[0].line.text) if rows else 0
        self.screen.selections = {self: Selection(Offset(0, low), Offset(end, high))}
        self._scroll_to_line(place, above=1 if self._head == low else self.size.height - 2)
