"""Context screen: usage of the context window by section and by message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.context_edits import ContextEdits, EditAction
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.reports.context import (
    LEGEND,
    section_note,
    section_sizes,
    segment_line,
    segment_text,
    share,
    subjects_of,
    summary,
)
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.transcript.blocks import as_sentence
from cinch_tui.widgets.item_list import ItemList, ItemRow
from cinch_tui.widgets.view_pane import ViewPane
from harness.context.breakdown import Breakdown, ContextSegment
from harness.errors import CinchError
from harness.views import TextView

if TYPE_CHECKING:
    from harness.messages import Message

PAGE = 10
"""Rows by which a page key moves in the list."""
BAR_WIDTH = 24
"""Cells of the bar of a whole window."""
_HINT = (
    "context.up context.down move",
    "context.expand opens it",
    "context.pin keeps",
    "context.remove removes",
    "context.restore restores",
    "context.back closes",
)
_READ_HINT = ("context.up context.down scroll", "context.back back to the list")
_BAR_STYLES = {"free": "$foreground 30%", "room for the reply": "$secondary"}
_BAR_CHARACTERS = {"free": "░", "room for the reply": "▒"}


async def open_context(app: App[object], assembly: Assembly) -> None:
    """Show the context of the next model call; call it in a worker."""
    edits = await ContextEdits.open(assembly.agent, assembly.folder.instructions)
    usage = await asyncio.to_thread(edits.usage)
    await app.push_screen_wait(ContextScreen(usage, edits))


class ContextScreen(Dialog[None]):
    """List of segments; Enter shows the text of one, and keys pin, remove and restore messages."""

    CSS_PATH = stylesheets("context")
    FIRST_FOCUS = "#segments"
    BINDINGS = bindings("context")

    reading = var(default=False, toggle_class="-reading")

    def __init__(self, usage: Breakdown, edits: ContextEdits) -> None:
        super().__init__(grace=0)
        self._edits = edits
        self._breakdown = usage

    @property
    def key_hints(self) -> tuple[str, ...]:
        return _READ_HINT if self.reading else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static(self._heading(), id="heading")
        yield Static(self._sections(), id="sections")
        yield ItemList(id="segments")
        yield ViewPane(TextView(""), id="text")
        yield Static(LEGEND, classes="hint")

    def opened(self) -> None:
        self._show_segments(len(self._breakdown.segments))

    def _show_segments(self, cursor: int) -> None:
        subjects, numbers = self._subjects, self._edits.numbers
        width = len(str(len(numbers)))
        rows: list[ItemRow] = []
        for segment in self._breakdown.segments:
            number = numbers.get(segment.message.id, "") if segment.message else ""
            rows.append(ItemRow(f"{number:>{width}} {segment_line(segment, subjects)}", self._note(segment)))
        self.query_one(ItemList).show(rows, "", cursor)

    def _note(self, segment: ContextSegment) -> str:
        mark = self._edits.mark(segment.message) if segment.message else ""
        return " · ".join(filter(None, (mark, section_note(segment))))

    def action_edit(self, action: EditAction) -> None:
        """Change the message at the cursor, from the next model call on; a second `pin` ends the pin."""
        if self.reading or not self._breakdown.segments:
            return
        message = self._current.message
        try:
            if message is None:
                raise CinchError("only messages can be pinned, removed and restored")
            if action == "pin" and self._edits.mark(message) == "pinned":
                action = "unpin"
            self._edits.apply(action, message)
        except CinchError as error:
            self.notify(as_sentence(f"{error}."), severity="warning", markup=False)
            return
        self._breakdown = self._edits.usage()
        self._show_segments(self._place_of(message))
        self._show_sizes()

    def _place_of(self, message: Message) -> int:
        """Return the row of a message; that of the cursor if it has none."""
        ids = [segment.message.id if segment.message else "" for segment in self._breakdown.segments]
        return ids.index(message.id) if message.id in ids else self.query_one(ItemList).cursor

    def _show_sizes(self) -> None:
        self.query_one("#heading", Static).update(self._heading())
        self.query_one("#sections", Static).update(self._sections())

    def watch_reading(self) -> None:
        self.show_keys()
        if self.is_mounted:
            self.query_one("#heading", Static).update(self._heading())

    def action_move(self, by: int) -> None:
        if self.reading:
            self.action_scroll(by)
        else:
            self.query_one(ItemList).action_move(by)

    def action_page(self, direction: int) -> None:
        if self.reading:
            super().action_page(direction)
        else:
            self.query_one(ItemList).action_move(direction * PAGE)

    def action_expand(self) -> None:
        if self.reading:
            self.action_back()
        elif self._breakdown.segments:
            self.reading = True
            self.query_one(ViewPane).show(TextView(segment_text(self._current, self._edits.texts)))

    def action_back(self) -> None:
        if self.reading:
            self.reading = False
        else:
            self.answer(None)

    @on(ItemList.Clicked)
    def expand_clicked(self, event: ItemList.Clicked) -> None:
        self.query_one(ItemList).cursor = event.index
        self.action_expand()

    @property
    def _subjects(self) -> dict[str, str]:
        return subjects_of(segment.message for segment in self._breakdown.segments)

    @property
    def _current(self) -> ContextSegment:
        return self._breakdown.segments[self.query_one(ItemList).cursor]

    def _heading(self) -> Content:
        if self.reading:
            return Content.styled(segment_line(self._current, self._subjects), "bold")
        return Content.assemble(("Context", "bold"), f"  {summary(self._breakdown)}")

    def _sections(self) -> Content:
        sections = section_sizes(self._breakdown)
        total = self._breakdown.size or self._breakdown.used
        width = max(len(name) for name, _ in sections) if sections else 0
        lines = (
            Content.assemble(
                f"{name:<{width}}  ",
                (_BAR_CHARACTERS.get(name, "█") * cells_of(tokens, total), _BAR_STYLES.get(name, "$primary")),
                ("·" * (BAR_WIDTH - cells_of(tokens, total)), "$foreground 20%"),
                f" {tokens:>9,}  {share(tokens, total)}",
            )
            for name, tokens in sections
        )
        return Content("\n").join(lines)


def cells_of(tokens: int, total: int) -> int:
    """Return the length of a bar; at least one cell if there are tokens."""
    if not tokens or not total:
        return 0
    return max(1, min(BAR_WIDTH, round(BAR_WIDTH * tokens / total)))
