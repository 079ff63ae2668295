"""Read-only text dialog for text that may grow."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.screens.dialog import Dialog, stylesheets
from harness.terminal_text import escape_controls

UPDATE_SECONDS = 0.5


class Reader(Dialog[None]):
    """Shows the result of `text` and follows its end unless the user scrolls up."""

    CSS_PATH = stylesheets("reader")
    FIRST_FOCUS = "#text"
    BINDINGS = bindings("reader")
    KEY_HINTS = ("↑ ↓ PgUp PgDn scroll", "reader.close closes")

    def __init__(self, title: str, text: Callable[[], str], *, grace: float = 0) -> None:
        super().__init__(grace=grace)
        self._heading = title
        self._text = text
        self._shown = ""

    def compose_content(self) -> ComposeResult:
        yield Static(self._heading, id="heading", markup=False)
        with VerticalScroll(id="text"):
            yield Static(id="words", markup=False)

    def opened(self) -> None:
        self.update()
        self.query_one("#text").scroll_end(animate=False)
        self.set_interval(UPDATE_SECONDS, self.update)

    def action_close(self) -> None:
        self.answer(None)

    def update(self) -> None:
        """Show the text as it is now."""
        text = self._text()
        if text == self._shown:
            return
        self._shown = text
        scroll = self.query_one("#text")
        was_at_end = scroll.is_vertical_scroll_end
        self.query_one("#words", Static).update(escape_controls(text))
        if was_at_end:
            self.call_after_refresh(scroll.scroll_end, animate=False)
