"""MCP screen: the servers with their states, and the tools, resources and prompts of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from textual import on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.mcp_control import McpControl
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.mcp import (
    MARKS,
    McpEntry,
    about_lines,
    contents_text,
    entries,
    log_text,
    phase_text,
    summary,
)
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.screens.reader import Reader
from cinch_tui.transcript.blocks import as_sentence
from cinch_tui.widgets.item_list import ItemList, ItemRow
from harness.errors import CinchError
from tools.mcp.state import ServerState, clean_line

ServerAction: TypeAlias = Literal["reconnect", "toggle", "log_in", "log_out"]

NAME_CHARS = 24
"""Maximum length of a name in the list, so that the states fit beside it."""
NOTHING_OFFERED, NOTHING_FOUND = "no tools, resources or prompts", "no matches"
UPDATE_SECONDS = 0.5
"""Seconds between updates: the log and the time until the next attempt change without notice."""
_HINT = (
    "Enter opens",
    "mcp.reconnect reconnects",
    "mcp.toggle on or off",
    "mcp.log_in logs in",
    "mcp.log shows the log",
    "mcp.back closes",
)
_SERVER_HINT = ("Enter shows it", "mcp.find finds", "mcp.log shows the log", "mcp.back back to the servers")


class McpScreen(Dialog[None]):
    """List of servers; Enter opens the tools, resources and prompts of one."""

    CSS_PATH = stylesheets("mcp")
    FIRST_FOCUS = "#rows"
    BINDINGS = bindings("mcp")

    server = var("")
    """Name of the server whose details are shown; empty: the list of servers."""
    finding = var(default=False, toggle_class="-finding")

    def __init__(self, control: McpControl) -> None:
        super().__init__(grace=0)
        self._control = control
        self._shown: Sequence[object] = ()
        self._entries: Sequence[McpEntry] = ()
        self._message = ""
        self._stop_watching: Callable[[], None] = lambda: None

    @property
    def key_hints(self) -> tuple[str, ...]:
        return _SERVER_HINT if self.server else _HINT

    def compose_content(self) -> ComposeResult:
        yield Static("", id="heading", markup=False)
        yield Input(placeholder="find a tool, resource or prompt", id="find", compact=True)
        yield ItemList(id="rows")
        yield Static("", id="about", markup=False)
        yield Static("", id="message", markup=False)

    def opened(self) -> None:
        self._update()
        self.set_interval(UPDATE_SECONDS, self._update)
        self._stop_watching = self._control.servers.on_change(self._update)

    def on_unmount(self) -> None:
        self._stop_watching()

    def focus_first(self) -> None:
        self.query_one("#find" if self.finding else "#rows").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        is_offered = action != "find" or bool(self.server)
        return is_offered and super().check_action(action, parameters)

    def action_move(self, by: int) -> None:
        items = self.query_one(ItemList)
        items.cursor = self._nearest_entry(items.cursor + by, by) if self.server else items.cursor + by

    def _nearest_entry(self, wanted: int, by: int) -> int:
        """Return the row of an entry at or after `wanted` in the direction of the move; titles are skipped."""
        places = [at for at, each in enumerate(self._entries) if not each.is_title][:: 1 if by > 0 else -1]
        return next((at for at in places if (at - wanted) * by >= 0), places[-1] if places else 0)

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.query_one(ItemList).size.height - 1))

    def action_open(self) -> None:
        cursor = self.query_one(ItemList).cursor
        if not self.server:
            self._open_server(self._current.server.name)
        elif cursor < len(self._entries) and not (entry := self._entries[cursor]).is_title:
            self._read(entry.label, lambda: entry.text or entry.detail)

    def action_log(self) -> None:
        name = self._current.server.name
        self._read(f"Log of {name}", lambda: log_text(self._control.servers, name))

    def action_find(self) -> None:
        self.finding = True
        self.focus_first()

    def action_back(self) -> None:
        """End the search, then go back to the servers, then close."""
        if self.finding:
            self._stop_finding()
            self._update()
        elif self.server:
            self._open_server("")
        else:
            self.answer(None)

    def action_server(self, action: ServerAction) -> None:
        """Change the current server."""
        state, control = self._current, self._control
        is_on = state.phase not in ("off", "failed")
        steps: dict[ServerAction, Callable[[str], Awaitable[str]]] = {
            "reconnect": control.reconnect,
            "toggle": control.turn_off if is_on else control.reconnect,
            "log_in": control.log_in,
            "log_out": control.log_out,
        }
        self._run(steps[action], state.server.name)

    @work(group="mcp")
    async def _run(self, step: Callable[[str], Awaitable[str]], name: str) -> None:
        try:
            self._message = await step(name)
        except CinchError as error:
            self._message = as_sentence(f"{error}.")
        if self.is_attached:
            self._update()

    @on(Input.Changed, "#find")
    def find(self) -> None:
        self._update()
        self.query_one(ItemList).cursor = self._nearest_entry(0, 1)

    @on(Input.Submitted, "#find")
    def read_found(self) -> None:
        self.action_open()

    @on(ItemList.Clicked)
    def open_clicked(self, event: ItemList.Clicked) -> None:
        self.query_one(ItemList).cursor = event.index
        self.action_open()

    @on(ItemList.Moved)
    def show_about(self) -> None:
        if self._answered or not self._open:
            return
        state = self._current
        contents = contents_text(state, self._control.servers.tools_of(state.server.name))
        lines = (" · ".join(filter(None, (phase_text(state), contents))), *about_lines(state))
        self.query_one("#about", Static).update("\n".join(filter(None, lines)))
        self.query_one("#message", Static).update(one_line(self._message))

    @property
    def _current(self) -> ServerState:
        states = self._control.servers.states()
        if self.server:
            return next(each for each in states if each.server.name == self.server)
        return states[min(self.query_one(ItemList).cursor, len(states) - 1)]

    def _open_server(self, name: str) -> None:
        names = [each.server.name for each in self._control.servers.states()]
        cursor = 0 if name else names.index(self.server)
        self._stop_finding()
        self.server, self._message, self._shown = name, "", ()
        self.show_keys()
        self._update()
        self.query_one(ItemList).cursor = self._nearest_entry(0, 1) if name else cursor

    def _stop_finding(self) -> None:
        self.finding = False
        with self.prevent(Input.Changed):
            self.query_one("#find", Input).value = ""
        self.focus_first()

    def _read(self, title: str, text: Callable[[], str]) -> None:
        self._owner.push_screen(Reader(one_line(title), text))

    def _update(self) -> None:
        """Show the rows anew if they have changed."""
        if self._answered or not self.is_attached:
            return
        rows = self._server_rows() if self.server else self._rows()
        if rows != self._shown:
            self._shown = rows
            items = self.query_one(ItemList)
            items.show(rows, self._query, items.cursor)
            self.query_one("#heading", Static).update(self._heading())
        self.show_about()

    @property
    def _query(self) -> str:
        return self.query_one("#find", Input).value

    def _rows(self) -> list[ItemRow]:
        return [self._row(each) for each in self._control.servers.states()]

    def _row(self, state: ServerState) -> ItemRow:
        name = state.server.name
        contents = contents_text(state, self._control.servers.tools_of(name))
        detail = contents if state.phase == "connected" and contents else phase_text(state)
        return ItemRow(f"{MARKS[state.phase]} {clean_line(name, NAME_CHARS)}", detail)

    def _server_rows(self) -> list[ItemRow]:
        found = entries(self._control.servers, self._control.session.agent, self.server)
        if words := self._query.casefold().split():
            found = [each for each in found if not each.is_title and _has(each, words)]
        self._entries = found or [McpEntry(NOTHING_FOUND if self._query else NOTHING_OFFERED, is_title=True)]
        return [ItemRow(each.label, each.detail, is_title=each.is_title) for each in self._entries]

    def _heading(self) -> Content:
        if self.server:
            return Content.assemble((f"MCP server {one_line(self.server)}", "bold"))
        return Content.assemble(("MCP servers", "bold"), f"  {summary(self._control.servers.states())}")


def _has(entry: McpEntry, words: Sequence[str]) -> bool:
    text = f"{entry.label} {entry.detail} {entry.text}".casefold()
    return all(word in text for word in words)
