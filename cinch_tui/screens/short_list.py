"""Short list dialog: a few numbered answers, the safe one first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets

MOST = 9
"""Maximum number of choices, each with a digit."""


class ShortList(Dialog[str | None]):
    """Answers with the name of the choice, or None on Esc.

    Args:
        title: The question, one line.
        choices: Name and explanation of each choice; the explanation may be empty. Enter alone chooses the first.
    """

    CSS_PATH = stylesheets("short_list")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("short_list")]

    def __init__(self, title: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__(grace=0)
        self._heading = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        rows = (
            Content.assemble((f"{number} ", "bold $text-primary"), one_line(name), (f"  {one_line(detail)}", "dim"))
            for number, (name, detail) in enumerate(self._choices, 1)
        )
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = hint("a digit, or ↑ ↓ and Enter", "short_list.cancel cancels")
            yield Static(Content.styled(" ".join(self._heading.split()), "bold"), id="heading", markup=False)
            yield OptionList(*rows, id="options", markup=False, compact=True)

    def opened(self) -> None:
        self.query_one(OptionList).highlighted = 0

    def action_pick(self, place: int) -> None:
        if place < len(self._choices):
            self.answer(self._choices[place][0])

    def action_cancel(self) -> None:
        self.answer(None)

    @on(OptionList.OptionSelected)
    def take_option(self, event: OptionList.OptionSelected) -> None:
        if not self.waiting:
            self.action_pick(event.option_index)
