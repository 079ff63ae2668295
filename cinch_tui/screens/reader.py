"""Read-only text dialog for text that may grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.screens.dialog import Dialog, stylesheets
from harness.terminal_text import escape_controls

LOOK_AGAIN_SECONDS = 0.5


class Reader(Dialog[None]):
    """Shows the result of `text` and follows its end unless the user scrolls up."""

    CSS_PATH = stylesheets("reader")
    FIRST_FOCUS = "#text"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("reader")]

    def __init__(self, title: str, text: Callable[[], str]) -> None:
        super().__init__(grace=0)
        self._heading = title
        self._text = text
        self._shown = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = hint("↑ ↓ PgUp PgDn scroll", "reader.close closes")
            yield Static(self._heading, id="heading", markup=False)
            with VerticalScroll(id="text"):
                yield Static(id="words", markup=False)

    def opened(self) -> None:
        self._look()
        self.query_one("#text").scroll_end(animate=False)
        self.set_interval(LOOK_AGAIN_SECONDS, self._look)

    def action_close(self) -> None:
        self.answer(None)

    def action_scroll(self, by: int) -> None:
        self.query_one("#text").scroll_relative(y=by, animate=False)

    def action_page(self, direction: int) -> None:
        text = self.query_one("#text")
        text.scroll_relative(y=direction * max(1, text.size.height - 1), animate=False)

    def _look(self) -> None:
        text = self._text()
        if text == self._shown:
            return
        self._shown = text
        scroll = self.query_one("#text")
        was_at_end = scroll.is_vertical_scroll_end
        self.query_one("#words", Static).update(escape_controls(text))
        if was_at_end:
            self.call_after_refresh(scroll.scroll_end, animate=False)
