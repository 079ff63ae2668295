"""Dialogs with a few answers, the safe one first."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static

from cinch_tui.keybindings.keymap import bindings, label_of
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.user_dialogs.approval_options import AnswerOption
from cinch_tui.widgets.answer_bar import AnswerBar

MAX_CHOICES = 9
"""Maximum number of choices, each with a digit."""


class Confirmation(Dialog[bool]):
    """Yes/no question; Enter alone and Esc answer no.

    Args:
        question: one line.
        yes: label of the confirming answer.
        no: label of the safe answer.
    """

    FIRST_FOCUS = "AnswerBar"
    BINDINGS = bindings("confirmation")
    KEY_HINTS = ("confirmation.no cancels",)

    def __init__(self, question: str, *, yes: str, no: str) -> None:
        super().__init__(grace=0)
        self._question = question
        self._texts = {"no": no, "yes": yes}

    def compose_content(self) -> ComposeResult:
        yield Static(one_line(self._question), id="heading", markup=False)
        yield AnswerBar(
            AnswerOption(label_of(f"confirmation.{name}"), name, text, text) for name, text in self._texts.items()
        )

    def action_yes(self) -> None:
        self.answer(result=True)

    def action_no(self) -> None:
        self.answer(result=False)


class ShortList(Dialog[str | None]):
    """Answers with the name of the choice, or None on Esc.

    Args:
        title: The question, one line.
        choices: Name and explanation of each choice; the explanation may be empty. Enter alone chooses the first.
    """

    CSS_PATH = stylesheets("short_list")
    BINDINGS = bindings("short_list")
    KEY_HINTS = ("a digit, or ↑ ↓ and Enter", "short_list.cancel cancels")

    def __init__(self, title: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__(grace=0)
        self._heading = " ".join(title.split())
        self._choices = choices

    def compose_content(self) -> ComposeResult:
        yield Static(Content.styled(self._heading, "bold"), id="heading", markup=False)
        rows = (
            Content.assemble((f"{number} ", "bold $text-primary"), one_line(name), (f"  {one_line(detail)}", "dim"))
            for number, (name, detail) in enumerate(self._choices, 1)
        )
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
