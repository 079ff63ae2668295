"""Transcript widget: folding, selecting, searching, copying and opening links."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from time import monotonic, perf_counter

from msgspec.structs import replace
from rich.style import Style
from textual import events
from textual.content import Content
from textual.selection import Selection
from textual.timer import Timer

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, bindings_for_key, hint
from cinch_tui.keybindings.prompt_keys import FocusPrompt, TypedForPrompt
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import UserBlock
from cinch_tui.transcript.image import TranscriptImage
from cinch_tui.transcript.image_list import ImageList
from cinch_tui.transcript.layout import ScreenRow, row_key
from cinch_tui.transcript.links import Link, links_in
from cinch_tui.transcript.painting import Highlight
from cinch_tui.transcript.replies import ReplyBlock
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.virtual_list import SLICE

# Seconds after which a finished call is folded.
SEEN_AFTER = 3.0
_BLOCK_KEYS = ("transcript.copy_code code", "transcript.mark mark", "transcript.links links", "transcript.stamps times")


def _is_foldable(block: TranscriptBlock) -> bool:
    return block.foldable


def _is_prompt(block: TranscriptBlock) -> bool:
    return isinstance(block, UserBlock)


def _is_shown(block: TranscriptBlock) -> bool:
    return bool(block.source.strip())


class Transcript(ImageList, can_focus=True):
    """The conversation."""

    BINDINGS = bindings("transcript")

    class LinkOpened(DataMessage):
        """A link was clicked."""

        url: str

    class LinksRequested(DataMessage):
        """Open or copy one of these links."""

        links: list[Link]

    class ImageOpened(DataMessage):
        """Open an image in a viewer."""

        image: TranscriptImage

    class CopyRequested(DataMessage):
        """Copy a text."""

        text: str

    class KeysChanged(DataMessage):
        """Hint of the active keys; empty while unfocused."""

        hint: str

    _selected: TranscriptBlock | None = None
    _found: int | None = None
    _code_taken = 0
    _keys_hint = ""
    _hovered = ""
    _folding: Timer | None = None

    def __init__(self) -> None:
        super().__init__()
        self._fresh: list[tuple[float, ToolBlock]] = []

    def add_fresh(self, block: ToolBlock) -> None:
        """Add a running call, unfolded until some time after it finished."""
        block.is_fresh = True
        self.add(block)

    def settle(self, block: ToolBlock) -> None:
        """Fold a finished call after a delay."""
        self.changed(block)
        self._fresh.append((monotonic() + SEEN_AFTER, block))
        self._await_folding()

    def _await_folding(self) -> None:
        if self._fresh and self._folding is None and self.is_running:
            self._folding = self.set_timer(max(0.1, self._fresh[0][0] - monotonic()), self._fold_settled)

    def _fold_settled(self) -> None:
        self._folding = None
        now = monotonic()
        waiting = self._fresh
        self._fresh = []
        for due, block in waiting:
            if block.index < 0 or not block.is_fresh:
                continue
            if due > now:
                self._fresh.append((due, block))
            elif self._is_read(block):
                self._fresh.append((now + SEEN_AFTER, block))
            else:
                block.is_fresh = False
                self.changed(block)
        self._fresh.sort(key=lambda each: each[0])
        self._await_folding()

    def _is_read(self, block: TranscriptBlock) -> bool:
        """Return True if the user may be reading it: it is selected, or visible while they select, search or scroll."""
        if block is self._selected:
            return True
        is_busy = self._has_highlights or not self.following
        return is_busy and any(row.block is block for row in self._rows)

    def drop(self, block: TranscriptBlock) -> None:
        if self._selected is block:
            self._selected = None
            self._show_keys()
        super().drop(block)

    def clear(self) -> None:
        self._selected = None
        self._show_keys()
        self._fresh.clear()
        super().clear()

    def _row_style(self, row: ScreenRow) -> Style:
        ground = super()._row_style(row)
        return ground + self._layout.styles["cursor"] if self._is_chosen(row) else ground

    def _is_chosen(self, row: ScreenRow) -> bool:
        """Return True if the line shows the selection; foldable blocks show it on their header line."""
        return row.block is self._selected and not row.block.foldable and bool(row.line.text)

    @property
    def _has_highlights(self) -> bool:
        return super()._has_highlights or self._selected is not None

    def _highlights(self, row: ScreenRow) -> list[Highlight]:
        # A line that is all gutter belongs to an image, which keeps its colors.
        is_marked = self._is_chosen(row) and row.line.gutter < len(row.line.text)
        chosen = [Highlight(0, len(row.line.text), self._layout.styles["cursor"])] if is_marked else []
        return [*chosen, *super()._highlights(row)]

    def on_click(self, event: events.Click) -> None:
        # Textual would select the whole transcript on a double click.
        event.prevent_default()
        offset = event.get_content_offset(self)
        if offset is None or offset.y >= len(self._rows) or self.text_selection is not None:
            return
        row = self._rows[offset.y]
        if row.block.index < 0:
            return
        if event.style.link:
            self.post_message(self.LinkOpened(event.style.link))
        elif row.block.foldable and row.part == self._layout.place_of(row.block).part:
            self._toggle(row.block)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show the target of a link as tooltip."""
        url = event.style.link or ""
        if url != self._hovered:
            self._hovered = url
            self.tooltip = Content(url) if url else None

    def action_fold(self) -> None:
        """Toggle the selected block, or the last foldable one."""
        block = self._selected or self._layout.neighbor(len(self.blocks), -1, _is_foldable)
        if block is not None and block.foldable:
            self._toggle(block)
            self._reveal(block)

    def choose_call(self, call_id: str) -> bool:
        """Select the block of a call; return False if the transcript has no such block."""
        found = next((block for block in reversed(self.blocks) if getattr(block, "call_id", "") == call_id), None)
        if found is not None:
            self._select(found)
        return found is not None

    def choose_message(self, message_id: str) -> bool:
        """Select the first block of a message and scroll to it; return False if the transcript has no such block."""
        found = next((block for block in self.blocks if block.message_id == message_id and not block.hidden), None)
        self._go_to(found)
        if found is not None:
            self._choose(found)
        return found is not None

    def action_previous_prompt(self) -> None:
        """Scroll to the prompt before the top line."""
        top = self._top
        within = top.block < len(self.blocks) and top > self._layout.place_of(self.blocks[top.block])
        self._go_to(self._layout.neighbor(top.block + within, -1, _is_prompt))

    def action_next_prompt(self) -> None:
        """Scroll to the next prompt below the top line; after the last one, to the end."""
        block = self._layout.neighbor(self._top.block, 1, _is_prompt)
        self._go_to(block)
        if block is None or len(self._layout.rows(self._top, self.size.height)) < self.size.height:
            self.follow()

    def _go_to(self, block: TranscriptBlock | None) -> None:
        if block is not None:
            self.following = False
            self._top = self._layout.place_of(block)
            self._schedule()

    def _step(self, by: int, wanted: Callable[[TranscriptBlock], bool]) -> None:
        """Select the next matching block; stop at the last one."""
        block = self._layout.neighbor(self._beginning(by), by, wanted)
        if block is not None:
            self._select(block)

    action_previous_block = partialmethod(_step, -1, _is_foldable)
    action_next_block = partialmethod(_step, 1, _is_foldable)
    action_above = partialmethod(_step, -1, _is_shown)
    action_below = partialmethod(_step, 1, _is_shown)

    def action_unfold(self) -> None:
        """Toggle the block; open an image block."""
        block = self._selected
        if block is not None and block.images and not block.foldable:
            self.action_open()
        else:
            self.action_fold()

    def action_open(self) -> None:
        """Open the image of the selected block in a viewer."""
        if self._selected is not None and self._selected.images:
            self.post_message(self.ImageOpened(self._selected.images[0]))

    def action_copy(self) -> None:
        """Copy the selected lines, or the selected block."""
        if marked := self.marked_text:
            self.post_message(self.CopyRequested(marked))
            self.end_marking()
            return
        block = self._selected or self._last_reply()
        if block is not None and block.source.strip():
            self.post_message(self.CopyRequested(block.source.strip("\n")))

    def action_copy_code(self) -> None:
        """Copy the last code block of the selected block or the last reply; repeated: the one before."""
        block = self._selected or self._last_reply()
        codes = block.code if block is not None else []
        if codes:
            self._code_taken += 1
            self.post_message(self.CopyRequested(codes[-self._code_taken % len(codes)]))

    def action_mark(self) -> None:
        """Start selecting lines at the search match, the selected block, or the last visible one."""
        block = self._selected or (self._rows[-1].block if self._rows else None)
        if block is not None and block.index >= 0:
            self.begin_marking(block, self._found)
            self._show_keys()

    def action_links(self) -> None:
        """Offer the links of the selected block or the last reply."""
        block = self._selected or self._last_reply()
        if block is not None:
            self.post_message(self.LinksRequested(links_in(self._layout.lines_of(block))))

    def action_stamps(self) -> None:
        """Toggle time stamps."""
        self.options = replace(self.options, stamps=not self.options.stamps)

    def action_leave(self) -> None:
        self._select(None)
        self.post_message(FocusPrompt())

    def _last_reply(self) -> TranscriptBlock | None:
        return self._layout.neighbor(len(self.blocks), -1, lambda block: isinstance(block, ReplyBlock))

    def on_key(self, event: events.Key) -> None:
        if self.is_marking and "leave" in self._actions_of(event.key):
            # Handled before the screen, which would clear the selection and pass the key on.
            event.stop()
            event.prevent_default()
            self.end_marking()
        elif event.character and event.is_printable and not self._is_command(event.key):
            event.stop()
            event.prevent_default()
            # Keys that arrive together are delivered here before the focus moves: the rest of a word is text, too.
            self._select(None)
            self.post_message(TypedForPrompt(event.character))

    def _is_command(self, key: str) -> bool:
        """Return True if the key is a command: letters are commands only while a block or lines are selected."""
        return (self._selected is not None or self.is_marking) and bool(self._actions_of(key))

    def _actions_of(self, key: str) -> set[str]:
        return {binding.action for binding in bindings_for_key(self._bindings, key)}

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(TypedForPrompt(event.text))

    def watch_has_focus(self, value: bool) -> None:  # noqa: FBT001  Textual's signature
        super().watch_has_focus(value)
        self._show_keys()

    def end_marking(self) -> None:
        super().end_marking()
        self._show_keys()

    def selection_updated(self, selection: Selection | None) -> None:
        super().selection_updated(selection)
        self._show_keys()

    def _show_keys(self) -> None:
        """Publish the active keys if they changed."""
        keys = hint(*self._active_keys()) if self.has_focus else ""
        if keys != self._keys_hint:
            self._keys_hint = keys
            self.post_message(self.KeysChanged(keys))

    def _active_keys(self) -> tuple[str, ...]:
        if self.is_marking:
            return ("↑ ↓ extend", "transcript.copy copy", "transcript.leave back")
        if (block := self._selected) is None:
            return ("In the conversation: ↑ ↓ scroll", "transcript.above selects a block", "transcript.leave back")
        fold = "transcript.unfold open/fold" if block.foldable else ""
        image = "transcript.open picture" if block.images else ""
        return ("transcript.leave back", "transcript.copy copy", fold, image, *_BLOCK_KEYS)

    def _beginning(self, step: int) -> int:
        """Return the block index to step from: the selected block, else the edge of the view."""
        if self._selected is not None:
            return self._selected.index
        if not self._rows:
            return len(self.blocks)
        return self._rows[-1].block.index + 1 if step < 0 else self._rows[0].block.index - 1

    def end_search(self, *, stay: bool) -> None:
        """End the search and select the block of the match, so that block keys apply to it."""
        search = self._search if stay else None
        found = search.current if search is not None else None
        place = search.locate() if search is not None and found is not None else None
        super().end_search(stay=stay)
        if found is not None:
            self._choose(found.block)
            self._found = row_key(found.block, place.part, place.line) if place is not None else None

    def _select(self, block: TranscriptBlock | None) -> None:
        self._choose(block)
        if block is not None:
            self._reveal(block)

    def _choose(self, block: TranscriptBlock | None) -> None:
        self._code_taken = 0
        self._found = None
        self.refresh()
        for other, selected in ((self._selected, False), (block, True)):
            if other is not None:
                other.selected = selected
                self.fold_changed(other)
        self._selected = block
        self._show_keys()

    def _toggle(self, block: TranscriptBlock) -> None:
        block.folded = not block.folded
        self.fold_changed(block)
        if not block.folded and self.following:
            # Stop following if the end no longer fits: an unfolded block is read from its top.
            self._absorb(perf_counter() + SLICE)
            height = self.size.height
            self.following = len(self._layout.rows(self._top, height + 1)) <= height

    def _reveal(self, block: TranscriptBlock) -> None:
        """Scroll as little as needed to show the start of a block."""
        self._absorb(perf_counter() + SLICE)
        self._scroll_to_line(self._layout.place_of(block), above=1)
