"""What the panels around the conversation have in common: a letter that means nothing there is meant for the prompt."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widget import Widget

from cinch_tui.keys.keymap import bindings_for_key
from harness.lazy_dataclass import dataclass


@dataclass
class PanelTyped(Message):
    """Keys that mean nothing here: the person goes on writing."""

    text: str


@dataclass
class PanelLeft(Message):
    """There is nothing more to do here; `emptied`: the list lost its last entry, and no key was pressed."""

    emptied: bool = False


class PanelKeys(Widget):
    _is_writing = False

    def on_focus(self) -> None:
        self._is_writing = False

    def on_key(self, event: events.Key) -> None:
        # Who types fast has sent the next letters before the prompt has the keys: they belong to the same word.
        if (
            event.character
            and event.is_printable
            and (self._is_writing or not bindings_for_key(self._bindings, event.key))
        ):
            self._is_writing = True
            event.stop()
            event.prevent_default()
            self.post_message(PanelTyped(event.character))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.post_message(PanelTyped(event.text))

    def action_leave(self) -> None:
        """Back to the prompt."""
        self.post_message(PanelLeft())
