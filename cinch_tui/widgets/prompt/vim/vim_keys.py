"""Vim mode of the prompt: connects the text area with the Vim state machine."""

from __future__ import annotations

from functools import cache

from textual import events

from cinch_tui.keybindings.table import KEYS
from cinch_tui.widgets.prompt.vim.motions import resting
from cinch_tui.widgets.prompt.vim.state_machine import Outcome, Vim


class VimKeys(Vim):
    """Vim modes driven by Textual's key events."""

    @property
    def shown(self) -> str:
        """Return the mode and the pending keys."""
        return f"{self.mode.upper()} {self.pending}".rstrip()

    def press(self, event: events.Key) -> Outcome:
        key = event.key
        letter = key.removeprefix("alt+")
        if len(letter) == 1 and letter != key and key not in _elsewhere():
            # Many terminals send the same for Alt and a letter as for Esc followed by the letter.
            self.key("escape")
            return self.key(letter)
        return self.key(event.character if event.is_printable and event.character else key)

    def rest(self) -> None:
        """Adjust the cursor to a replaced text."""
        if self.mode != "insert":
            self._field.move_to(resting(self._field.text, self._field.index))


@cache
def _elsewhere() -> frozenset[str]:
    """Return keys that are bound outside of the text area."""
    return frozenset(key for each in KEYS if each.owner in ("prompt", "chat", "app") for key in each.keys.split(","))
