"""Text and focus for the prompt, from the widgets and dialogs around it."""

from __future__ import annotations

from textual import events
from textual.widget import Widget

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings_for_key


class TypedForPrompt(DataMessage):
    """Text for the prompt, typed while something else was focused."""

    text: str


class FocusPrompt(DataMessage):
    """Return the focus to the prompt."""

    emptied: bool = False
    """The focused list became empty; no key was pressed."""


class PanelKeys(Widget):
    """Key handling of panels: unbound characters go to the prompt."""

    _is_writing = False

    def on_focus(self) -> None:
        self._is_writing = False

    def on_key(self, event: events.Key) -> None:
        # Fast typing delivers further letters before the prompt is focused: they belong to the same word.
        if (
            event.character
            and event.is_printable
            and (self._is_writing or not bindings_for_key(self._bindings, event.key))
        ):
            self._is_writing = True
            event.stop()
            event.prevent_default()
            self.post_message(TypedForPrompt(event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(TypedForPrompt(event.text))

    def action_leave(self) -> None:
        """Return to the prompt."""
        self.post_message(FocusPrompt())
