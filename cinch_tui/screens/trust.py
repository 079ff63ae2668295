"""Dialog about trust in a folder."""

from __future__ import annotations

from collections.abc import Iterator
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

MIN_HEIGHT = 17
"""Number of rows from which the answers are explained."""
MIN_WIDTH = 60
"""Number of columns from which they are."""


class TrustScreen(Dialog[TrustAnswer | None]):
    """Lists what a folder brings along. Esc answers None; Enter alone gives the safe answer."""

    CSS_PATH = stylesheets("short_list", "trust")
    BINDINGS = bindings("short_list", "trust")
    KEY_HINTS = ("trust.page_up trust.page_down scroll", "a digit, or ↑ ↓ and Enter", "short_list.cancel answers 1")
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
        yield OptionList(*self._options(), id="options", markup=False, compact=True)

    def opened(self) -> None:
        self.query_one(OptionList).highlighted = 0

    def on_resize(self) -> None:
        """Explain the answers if there is room."""
        # The first resize may come before the widgets.
        for options in self.query(OptionList):
            for index, option in enumerate(self._options()):
                options.replace_option_prompt_at_index(index, option)

    def _options(self) -> Iterator[Content]:
        has_room = self.size.height >= MIN_HEIGHT and self.size.width >= MIN_WIDTH
        for number, each in enumerate(self._question.choices, 1):
            option = Content.assemble((f"{number} ", "bold $text-primary"), each.label)
            yield option.append_text(f"  {each.effect}", "dim") if has_room else option

    def action_pick(self, place: int) -> None:
        if place < len(self._question.choices):
            self.answer(self._question.choices[place].answer)

    def action_cancel(self) -> None:
        self.answer(None)

    @on(OptionList.OptionSelected)
    def take_option(self, event: OptionList.OptionSelected) -> None:
        if not self.waiting:
            self.action_pick(event.option_index)
