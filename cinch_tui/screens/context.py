"""Context screen: usage of the context window by section and by message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace
from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from cinch_tui.assembly import Assembly
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.reports.context import LEGEND, section_note, section_sizes, segment_line, segment_text, share, summary
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.transcript.blocks import as_sentence
from cinch_tui.widgets.item_list import ItemList, ItemRow
from cinch_tui.widgets.view_pane import ViewPane
from harness.context.breakdown import Breakdown, ContextInputs, ContextSegment, Section, breakdown, context_inputs
from harness.context.summary_text import is_summary
from harness.errors import CinchError
from harness.views import TextView

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.context.overlay import ContextOverlay
    from harness.messages import Message

EditAction: TypeAlias = Literal["pin", "remove", "restore"]

PAGE = 10
BAR = 24
_HINT = ("context.up context.down move", "context.expand opens it", "context.back closes")
_EDIT_HINT = (
    "context.up context.down move",
    "context.expand opens it",
    "context.pin keeps",
    "context.remove removes",
    "context.restore restores",
    "context.back closes",
)
_READ_HINT = ("context.up context.down scroll", "context.back back to the list")
_INKS = {"free": "$foreground 30%", "room for the reply": "$secondary"}
_CELLS = {"free": "░", "room for the reply": "▒"}


async def open_context(app: App[object], assembly: Assembly) -> None:
    """Show the context of the next model call; call it in a worker."""
    agent = assembly.agent
    frame = context_inputs(agent.state, assembly.folder.instructions, agent.options.window)
    await agent.history.load()
    edits = ContextEdits(agent, frame)
    usage = await asyncio.to_thread(edits.usage)
    await app.push_screen_wait(ContextScreen(usage, lambda piece: segment_text(piece, texts_of(frame)), edits))


def texts_of(frame: ContextInputs) -> list[tuple[Section, str]]:
    """Return the texts sent before all messages."""
    tools = "\n\n".join(f"{tool.name}: {tool.description}" for tool in frame.tools)
    own = frame.system.replace(frame.instructions, "") if frame.instructions else frame.system
    return [("tools", tools), ("system", own), ("instructions", frame.instructions)]


class ContextEdits:
    """Changes of an agent's context, message by message."""

    def __init__(self, agent: Agent, frame: ContextInputs) -> None:
        self._agent = agent
        self._frame = frame

    @property
    def _overlay(self) -> ContextOverlay:
        return self._agent.state.context.overlay

    def usage(self) -> Breakdown:
        """Return the segments of the next request, and the removed messages, which can be restored."""
        usage = breakdown(self._agent.context_messages, self._frame)
        return with_removed(usage, self._agent.messages, self._overlay.dropped)

    def mark(self, message: Message) -> str:
        """Return how the context differs from the history at this message; empty if it does not."""
        if is_summary(message):
            return "summary"
        overlay = self._overlay
        marks = {"pinned": overlay.pinned, "removed": overlay.dropped, "cleared": overlay.evicted}
        return next((mark for mark, ids in marks.items() if message.id in ids), "")

    def apply(self, action: EditAction, message: Message) -> None:
        """Pin a message or end its pin, remove it, or restore it.

        Raises:
            CinchError: The message cannot be changed.
        """
        if is_summary(message):
            raise CinchError("a summary is changed with /compact edit, and withdrawn with /compact undo")
        is_pinned = message.id in self._overlay.pinned
        match action:
            case "pin":
                (self._agent.unpin if is_pinned else self._agent.pin)(message.id)
            case "remove":
                self._agent.drop(message.id)
            case "restore":
                self._agent.restore(message.id)


def with_removed(usage: Breakdown, history: Sequence[Message], removed: Set[str]) -> Breakdown:
    """Add removed messages that the context does not even have a note of, each before the message that followed it."""
    shown = {each.message.id for each in usage.segments if each.message}
    missing = [message for message in history if message.id in removed - shown]
    if not missing:
        return usage
    places = {message.id: place for place, message in enumerate(history)}
    segments: list[ContextSegment] = []
    for segment in usage.segments:
        place = places.get(segment.message.id, -1) if segment.message else -1
        while missing and places[missing[0].id] < place:
            segments.append(ContextSegment("left out", 0, message=missing.pop(0)))
        segments.append(segment)
    segments.extend(ContextSegment("left out", 0, message=message) for message in missing)
    return replace(usage, segments=tuple(segments))


class ContextScreen(Dialog[None]):
    """List of segments; Enter shows the text of one, and keys pin, remove and restore messages."""

    CSS_PATH = stylesheets("context")
    FIRST_FOCUS = "#pieces"
    BINDINGS = bindings("context")

    reading = var(default=False, toggle_class="-reading")

    def __init__(
        self, usage: Breakdown, read: Callable[[ContextSegment], str], edits: ContextEdits | None = None
    ) -> None:
        super().__init__(grace=0)
        self._edits = edits
        self._breakdown = usage
        self._read = read

    @property
    def key_hints(self) -> tuple[str, ...]:
        if self.reading:
            return _READ_HINT
        return _EDIT_HINT if self._edits else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static(self._heading(), id="heading")
        yield Static(self._sections(), id="zones")
        yield ItemList(id="pieces")
        yield ViewPane(TextView(""), id="text")
        yield Static(LEGEND, classes="hint")

    def opened(self) -> None:
        self._show_segments(len(self._breakdown.segments))

    def _show_segments(self, cursor: int) -> None:
        rows = [ItemRow(segment_line(piece), self._note(piece)) for piece in self._breakdown.segments]
        self.query_one(ItemList).show(rows, "", cursor)

    def _note(self, piece: ContextSegment) -> str:
        mark = self._edits.mark(piece.message) if self._edits and piece.message else ""
        return " · ".join(filter(None, (mark, section_note(piece))))

    def action_edit(self, action: EditAction) -> None:
        """Change the message at the cursor; from the next model call on."""
        if self.reading or self._edits is None or not self._breakdown.segments:
            return
        message = self._current.message
        try:
            if message is None:
                raise CinchError("only messages can be pinned, removed and restored")
            self._edits.apply(action, message)
        except CinchError as error:
            self.notify(as_sentence(f"{error}."), severity="warning", markup=False)
            return
        self._breakdown = self._edits.usage()
        places = (
            at for at, each in enumerate(self._breakdown.segments) if each.message and each.message.id == message.id
        )
        self._show_segments(next(places, self.query_one(ItemList).cursor))
        self.query_one("#heading", Static).update(self._heading())
        self.query_one("#zones", Static).update(self._sections())

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
            self.query_one(ViewPane).show(TextView(self._read(self._current)))

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
    def _current(self) -> ContextSegment:
        return self._breakdown.segments[self.query_one(ItemList).cursor]

    def _heading(self) -> Content:
        if self.reading:
            return Content.styled(segment_line(self._current), "bold")
        return Content.assemble(("Context", "bold"), f"  {summary(self._breakdown)}")

    def _sections(self) -> Content:
        sections = section_sizes(self._breakdown)
        total = self._breakdown.size or self._breakdown.used
        width = max(len(name) for name, _ in sections) if sections else 0
        lines = (
            Content.assemble(
                f"{name:<{width}}  ",
                (_CELLS.get(name, "█") * cells_of(tokens, total), _INKS.get(name, "$primary")),
                ("·" * (BAR - cells_of(tokens, total)), "$foreground 20%"),
                f" {tokens:>9,}  {share(tokens, total)}",
            )
            for name, tokens in sections
        )
        return Content("\n").join(lines)


def cells_of(tokens: int, total: int) -> int:
    """Return the length of a bar; at least one cell if there are tokens."""
    if not tokens or not total:
        return 0
    return max(1, min(BAR, round(BAR * tokens / total)))
