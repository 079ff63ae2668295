"""Confirmation dialog with the safe answer first."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from cinch_tui.keybindings.keymap import bindings, hint, label_of
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.answer_bar import Answer, AnswerBar


class Confirmation(Dialog[bool]):
    """Yes/no question; Enter alone and Esc answer no.

    Args:
        question: one line.
        yes: label of the confirming answer.
        no: label of the safe answer.
    """

    CSS_PATH = stylesheets()
    FIRST_FOCUS = "AnswerBar"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("confirmation")]

    def __init__(self, question: str, *, yes: str, no: str) -> None:
        super().__init__(grace=0)
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_subtitle = hint("confirmation.no cancels")
            yield Static(one_line(self._question), id="heading", markup=False)
            yield AnswerBar(
                (
                    Answer("no", label_of("confirmation.no"), self._no, self._no),
                    Answer("yes", label_of("confirmation.yes"), self._yes, self._yes),
                )
            )

    def action_yes(self) -> None:
        self.answer(result=True)

    def action_no(self) -> None:
        self.answer(result=False)

    @on(AnswerBar.Chosen)
    def take_chosen(self, event: AnswerBar.Chosen) -> None:
        self.answer(result=event.action == "yes")
