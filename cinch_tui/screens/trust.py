"""Dialog about trust in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.screens.dialog import GRACE, Dialog, stylesheets
from cinch_tui.trust.store import TrustAnswer
from harness.terminal_text import escape_controls

if TYPE_CHECKING:
    from cinch_tui.trust.prompt import TrustQuestion


class TrustScreen(Dialog[TrustAnswer | None]):
    """Lists what a folder brings along. Esc answers None; Enter alone gives the safe answer."""

    CSS_PATH = stylesheets("short_list", "trust")
    BINDINGS = bindings("short_list")
    KEY_HINTS = ("a digit, or ↑ ↓ and Enter", "short_list.cancel decides later")
    SCROLLED = "#files"

    def __init__(self, question: TrustQuestion, *, grace: float = GRACE) -> None:
        super().__init__(grace=grace)
        self._question = question

    def compose_content(self) -> ComposeResult:
        asked = self._question
        yield Static(Content.styled(escape_controls(asked.title), "bold"), id="heading", markup=False)
        yield Static(asked.text, id="about", markup=False)
        rows = (
            Content.assemble((escape_controls(name), "bold"), f"  {escape_controls(text)}") for name, text in asked.rows
        )
        with VerticalScroll(id="files", can_focus=False):
            yield Static(Content("\n").join(rows), markup=False)
        options = (
            Content.assemble((f"{number} ", "bold $text-primary"), each.label, (f"  {each.effect}", "dim"))
            for number, each in enumerate(asked.choices, 1)
        )
        yield OptionList(*options, id="options", markup=False, compact=True)

    def opened(self) -> None:
        self.query_one(OptionList).highlighted = 0

    def action_pick(self, place: int) -> None:
        if place < len(self._question.choices):
            self.answer(self._question.choices[place].answer)

    def action_cancel(self) -> None:
        self.answer(None)

    @on(OptionList.OptionSelected)
    def take_option(self, event: OptionList.OptionSelected) -> None:
        if not self.waiting:
            self.action_pick(event.option_index)
