"""The widget that shows a conversation, and what a person does with it: folding, choosing blocks, following links."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from cinch_tui.transcript.layout import row_key
from cinch_tui.transcript.sheet import SLICE, Sheet

if TYPE_CHECKING:
    from textual import events

    from cinch_tui.transcript.block import Block


class Transcript(Sheet, can_focus=True):
    """A conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "fold", "Fold", id="transcript.fold"),
        Binding("shift+left", "previous_block", "Previous block", show=False, id="transcript.previous"),
        Binding("shift+right", "next_block", "Next block", show=False, id="transcript.next"),
    ]

    @dataclass
    class LinkOpened(Message):
        """A link was clicked."""

        url: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._selected: Block | None = None

    def drop(self, block: Block) -> None:
        if self._selected is block:
            self._selected = None
        super().drop(block)

    def clear(self) -> None:
        self._selected = None
        super().clear()

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
        block = self._selected or self._page.foldable_beside(len(self.blocks), -1)
        if block is not None:
            self._toggle(block)
            self._reveal(block)

    def action_previous_block(self) -> None:
        self._select_beside(-1)

    def action_next_block(self) -> None:
        self._select_beside(1)

    def _select_beside(self, step: int) -> None:
        start = self._selected.index if self._selected is not None else len(self.blocks)
        block = self._page.foldable_beside(start, step)
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
        place = self._page.place_of(block)
        visible = [row.key for row in self._rows]
        if visible and visible[0] <= row_key(block, place.part, 0) <= visible[-1]:
            return
        self._following = False
        self._top = self._page.above(place, 1)
        self._schedule()
