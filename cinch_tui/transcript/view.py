"""The conversation as a widget, and what a person does with it: folding blocks, choosing them, searching, links."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from cinch_tui.keymap import bindings
from cinch_tui.transcript.copying import code_of
from cinch_tui.transcript.layout import Place, Row, row_key
from cinch_tui.transcript.painting import Marks
from cinch_tui.transcript.replies import ReplyBlock
from cinch_tui.transcript.search import Search
from cinch_tui.transcript.sheet import SLICE, Sheet

if TYPE_CHECKING:
    from rich.style import Style
    from textual import events

    from cinch_tui.transcript.block import Block


# Between two slices of a search keys get their turn.
BREATH = 0.001


@dataclass(frozen=True, slots=True)
class _Standpoint:
    """Where a reader was: at the end, or at a line."""

    block: Block | None
    part: int = 0
    line: int = 0


class Transcript(Sheet, can_focus=True):
    """A conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("transcript"),
        Binding("f2", "fold", "Fold", id="transcript.fold"),
        Binding("shift+left", "previous_block", "Previous block", show=False, id="transcript.previous"),
        Binding("shift+right", "next_block", "Next block", show=False, id="transcript.next"),
    ]

    @dataclass
    class LinkOpened(Message):
        """A link was clicked."""

        url: str

    @dataclass
    class Grabbed(Message):
        """A text is to be copied."""

        text: str

    @dataclass
    class Typed(Message):
        """Keys that mean nothing here: the person goes on writing."""

        text: str

    @dataclass
    class Left(Message):
        """There is nothing more to do here."""

    @dataclass
    class Found(Message):
        """A search stands at the match `number` of so many, counted from 1; 0 of 0 is none."""

        number: int
        total: int
        is_done: bool

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._selected: Block | None = None
        self._code_taken = 0
        self._search: Search | None = None
        self._begun_at = _Standpoint(None)
        self._unfolded: Block | None = None

    def extend(self, blocks: Iterable[Block]) -> None:
        added = tuple(blocks)
        super().extend(added)
        self._look_again(added)

    def prepend(self, blocks: Sequence[Block]) -> None:
        super().prepend(blocks)
        self._look_again(blocks)

    def changed(self, block: Block) -> None:
        super().changed(block)
        if self._search is not None:
            self._look_again((block,))

    def drop(self, block: Block) -> None:
        if self._selected is block:
            self._selected = None
        if self._search is not None:
            self._search.forget(block)
        super().drop(block)

    def clear(self) -> None:
        self._selected = None
        if self._search is not None:
            self._search.reset()
        super().clear()

    def find(self, query: str) -> None:
        """Search, from what was on the screen when the search began; an empty text finds nothing."""
        if self._search is None:
            self._search = Search(self._page)
            self._begun_at = self._standpoint()
        self._fold_again(None)
        self._search.find(query, self._last_seen())
        self._look()

    def find_next(self, step: int) -> None:
        """Go to the match after (1) or before (-1) the one that is shown."""
        if self._search is not None:
            self._search.step(step)
            self._show_match()

    def end_search(self, *, stay: bool) -> None:
        """Take the marks away; the view stays at what was found, or goes back to where the search began."""
        if self._search is None:
            return
        self._search = None
        if stay:
            self._unfolded = None
        else:
            self._fold_again(None)
            self._go_back()
        self.refresh()

    def _look_again(self, blocks: Sequence[Block]) -> None:
        if self._search is not None and self._search.look_again(blocks):
            self._look()

    def _look(self) -> None:
        self.run_worker(self._find_all(), group="search", exclusive=True)

    async def _find_all(self) -> None:
        """Look through everything, and show the first match as soon as there is one."""
        search = self._search
        more, shown = True, search is not None and search.current is not None
        while more and search is not None and search is self._search:
            more = search.look(perf_counter() + SLICE)
            if search.current is not None and not shown:
                shown = True
                self._show_match()
            elif more or search.current is not None:
                self._tell(is_done=not more)
            else:
                self._go_back()
                self._tell(is_done=True)
            await asyncio.sleep(BREATH)
        self.refresh()

    def _tell(self, *, is_done: bool = True) -> None:
        if self._search is not None:
            self.post_message(self.Found(self._search.position, self._search.total, is_done))

    def _show_match(self) -> None:
        search = self._search
        if search is None or search.current is None:
            return
        block = search.current.block
        self._fold_again(block)
        place = search.locate()
        if place is None and block.foldable and block.folded:
            self._unfolded = block
            self._fold(block, folded=False)
            place = search.locate()
        self._bring(place or self._page.place_of(block))
        self._tell()
        self.refresh()

    def _fold_again(self, block: Block | None) -> None:
        """Fold what only the search unfolded, unless it is this one."""
        if self._unfolded is not None and self._unfolded is not block:
            self._fold(self._unfolded, folded=True)
            self._unfolded = None

    def _fold(self, block: Block, *, folded: bool) -> None:
        block.folded = folded
        # Not `changed`: what is said stays as it is, and need not be searched again.
        super().changed(block)
        self._absorb(perf_counter() + SLICE)

    def _standpoint(self) -> _Standpoint:
        index, part, line = self._top
        return _Standpoint(None if self._following or index >= len(self.blocks) else self.blocks[index], part, line)

    def _go_back(self) -> None:
        block, part, line = self._begun_at.block, self._begun_at.part, self._begun_at.line
        if block is None or block.index < 0:
            self.follow()
            return
        self._following = False
        self._top = Place(block.index, part, line)
        self._schedule()

    def _last_seen(self) -> int:
        """The index of the last block that was on the screen where the search began."""
        block = self._begun_at.block
        if block is None or block.index < 0:
            return len(self.blocks) - 1
        rows = self._page.rows(Place(block.index, self._begun_at.part, self._begun_at.line), self.size.height)
        return rows[-1].block.index if rows else len(self.blocks) - 1

    def _ground(self, row: Row) -> Style:
        ground = super()._ground(row)
        return ground + self._page.look["cursor"] if self._is_chosen(row) else ground

    def _is_chosen(self, row: Row) -> bool:
        """What has a line of its own to be folded by shows there that it is selected."""
        return row.block is self._selected and not row.block.foldable and bool(row.line.text)

    @property
    def _has_marks(self) -> bool:
        return super()._has_marks or self._search is not None or self._selected is not None

    def _marks(self, row: Row) -> list[Marks]:
        found = self._search.marks(row) if self._search is not None else []
        chosen = [Marks(0, len(row.line.text), self._page.look["cursor"])] if self._is_chosen(row) else []
        return [*chosen, *found, *super()._marks(row)]

    def on_click(self, event: events.Click) -> None:
        # Textual would select the whole conversation at a double click.
        event.prevent_default()
        offset = event.get_content_offset(self)
        if offset is None or offset.y >= len(self._rows) or self.text_selection is not None:
            return
        row = self._rows[offset.y]
        if row.block.index < 0:
            return
        if event.style.link:
            self.post_message(self.LinkOpened(event.style.link))
        elif row.block.foldable and row.part == self._page.place_of(row.block).part:
            self._toggle(row.block)

    def action_fold(self) -> None:
        """Fold or unfold the selected block, or the last that can be."""
        block = self._selected or self._page.beside(len(self.blocks), -1, _is_foldable)
        if block is not None and block.foldable:
            self._toggle(block)
            self._reveal(block)

    def action_previous_block(self) -> None:
        self._select(self._page.beside(self._beginning(-1), -1, _is_foldable))

    def action_next_block(self) -> None:
        self._select(self._page.beside(self._beginning(1), 1, _is_foldable))

    def action_above(self) -> None:
        self._select(self._page.beside(self._beginning(-1), -1, _is_shown))

    def action_below(self) -> None:
        self._select(self._page.beside(self._beginning(1), 1, _is_shown))

    def action_unfold(self) -> None:
        self.action_fold()

    def action_copy(self) -> None:
        """Copy the selected block, or the last reply."""
        block = self._selected or self._last_reply()
        if block is not None and block.source.strip():
            self.post_message(self.Grabbed(block.source.strip("\n")))

    def action_copy_code(self) -> None:
        """Copy the last code of the selected block, or of the last reply; again: the code before it."""
        block = self._selected or self._last_reply()
        codes = code_of(block) if block is not None else []
        if codes:
            self._code_taken += 1
            self.post_message(self.Grabbed(codes[-self._code_taken % len(codes)]))

    def action_leave(self) -> None:
        self._select(None)
        self.post_message(self.Left())

    def _last_reply(self) -> Block | None:
        return self._page.beside(len(self.blocks), -1, lambda block: isinstance(block, ReplyBlock))

    def on_key(self, event: events.Key) -> None:
        if event.character and event.is_printable and event.key not in self._bindings.key_to_bindings:
            event.stop()
            event.prevent_default()
            self.post_message(self.Typed(event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(self.Typed(event.text))

    def _beginning(self, step: int) -> int:
        """Where going from block to block starts: at the selected one, else beside what is seen."""
        if self._selected is not None:
            return self._selected.index
        if not self._rows:
            return len(self.blocks)
        return self._rows[-1].block.index + 1 if step < 0 else self._rows[0].block.index - 1

    def _select(self, block: Block | None) -> None:
        self._code_taken = 0
        self.refresh()
        for other, selected in ((self._selected, False), (block, True)):
            if other is not None:
                other.selected = selected
                self.changed(other)
        self._selected = block
        if block is not None:
            self._reveal(block)

    def _toggle(self, block: Block) -> None:
        block.folded = not block.folded
        self.changed(block)
        if not block.folded and self._following:
            # What was unfolded is read from its top, even where its end would not fit any more.
            self._absorb(perf_counter() + SLICE)
            height = self.size.height
            self._following = len(self._page.rows(self._top, height + 1)) <= height

    def _reveal(self, block: Block) -> None:
        """Scroll as little as needed to show where a block begins."""
        self._absorb(perf_counter() + SLICE)
        self._bring(self._page.place_of(block), above=1)

    def _bring(self, place: Place, above: int | None = None) -> None:
        """Show a line, scrolling only if it is not on the screen, and then with so many others above it."""
        visible = [row.key for row in self._rows]
        if visible and visible[0] <= row_key(self.blocks[place.block], place.part, place.line) <= visible[-1]:
            return
        self._following = False
        self._top = self._page.above(place, self.size.height // 3 if above is None else above)
        self._schedule()


def _is_foldable(block: Block) -> bool:
    return block.foldable


def _is_shown(block: Block) -> bool:
    return bool(block.source.strip())
