"""Context screen: usage of the context window by section and by message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Static

from cinch_tui.assembly import Assembly
from cinch_tui.keybindings.keymap import bindings
from cinch_tui.reports.context import LEGEND, section_note, section_sizes, segment_line, segment_text, share, summary
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.item_list import ItemList, ItemRow
from cinch_tui.widgets.view_pane import ViewPane
from harness.context.breakdown import Breakdown, ContextInputs, ContextSegment, Section, breakdown, context_inputs
from harness.views import TextView

PAGE = 10
BAR = 24
_HINT = ("context.up context.down move", "context.expand opens it", "context.back closes")
_READ_HINT = ("context.up context.down scroll", "context.back back to the list")
_INKS = {"free": "$foreground 30%", "room for the reply": "$secondary"}
_CELLS = {"free": "░", "room for the reply": "▒"}


async def open_context(app: App[object], assembly: Assembly) -> None:
    """Show the context of the next model call; call it in a worker."""
    agent = assembly.agent
    frame = context_inputs(agent.state, assembly.folder.instructions, agent.options.window)
    await agent.history.load()
    usage = await asyncio.to_thread(breakdown, agent.context_messages, frame)
    await app.push_screen_wait(ContextScreen(usage, lambda piece: segment_text(piece, texts_of(frame))))


def texts_of(frame: ContextInputs) -> list[tuple[Section, str]]:
    """Return the texts sent before all messages."""
    tools = "\n\n".join(f"{tool.name}: {tool.description}" for tool in frame.tools)
    own = frame.system.replace(frame.instructions, "") if frame.instructions else frame.system
    return [("tools", tools), ("system", own), ("instructions", frame.instructions)]


class ContextScreen(Dialog[None]):
    """List of segments; Enter shows the text of one."""

    CSS_PATH = stylesheets("context")
    FIRST_FOCUS = "#pieces"
    BINDINGS = bindings("context")

    reading = var(default=False, toggle_class="-reading")

    def __init__(self, usage: Breakdown, read: Callable[[ContextSegment], str]) -> None:
        super().__init__(grace=0)
        self._breakdown = usage
        self._read = read

    @property
    def key_hints(self) -> tuple[str, ...]:
        return _READ_HINT if self.reading else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static(self._heading(), id="heading")
        yield Static(self._sections(), id="zones")
        yield ItemList(id="pieces")
        yield ViewPane(TextView(""), id="text")
        yield Static(LEGEND, classes="hint")

    def opened(self) -> None:
        rows = [ItemRow(segment_line(piece), section_note(piece)) for piece in self._breakdown.segments]
        self.query_one(ItemList).show(rows, "", len(rows))

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
