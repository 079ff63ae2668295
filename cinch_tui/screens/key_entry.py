"""Dialog for the API key of one provider."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from cinch_tui.keybindings.keymap import bindings, hint
from cinch_tui.screens.dialog import Dialog, stylesheets
from cinch_tui.widgets.key_field import CheckKey, KeyField


class KeyEntry(Dialog[KeyField.Entered | None]):
    """Returns the entered key with the result of its check; None if cancelled."""

    CSS_PATH = stylesheets("key_entry")
    FIRST_FOCUS = "KeyField Input"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("key_entry")]

    def __init__(self, title: str, note: str, check: CheckKey) -> None:
        super().__init__(grace=0)
        self._heading = title
        self._about = note
        self._check_key = check

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as dialog:
            dialog.border_title = self._heading
            dialog.border_subtitle = hint("Enter checks and stores it", "key_entry.cancel cancels")
            yield Static(self._about, id="about", markup=False)
            yield KeyField(self._check_key)

    @on(KeyField.Entered)
    def entered(self, event: KeyField.Entered) -> None:
        self.answer(event)

    def action_cancel(self) -> None:
        self.answer(None)
