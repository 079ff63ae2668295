"""Vim mode of the prompt: connects the text area with the Vim state machine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from textual.widgets.text_area import Selection

from cinch_tui.keybindings.table import KEYS
from cinch_tui.widgets.prompt.line_edits import TextEdit
from cinch_tui.widgets.prompt.vim.motions import resting
from cinch_tui.widgets.prompt.vim.state_machine import Outcome, Vim

if TYPE_CHECKING:
    from textual import events

    from cinch_tui.widgets.prompt.line_input import LineInput
    from cinch_tui.widgets.prompt.vim.operators import Field


class VimKeys(Vim):
    """Vim modes driven by Textual's key events."""

    def __init__(self, line: LineInput) -> None:
        super().__init__(InputField(line))

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
            self._field.go(resting(self._field.text, self._field.index))


class InputField:
    """Adapter of the text area. Placeholders are changed as a unit."""

    def __init__(self, line: LineInput) -> None:
        self._line = line

    @property
    def text(self) -> str:
        return self._line.text

    @property
    def index(self) -> int:
        return self._line.index

    def extend_span(self, start: int, end: int) -> tuple[int, int]:
        return self._line.extend_span(start, end)

    def go(self, index: int) -> None:
        start, end = self._line.extend_span(index, index + 1)
        # Skip the unit in the direction of the step.
        to = (end if self.index < index else start) if start < index < end else index
        self._line.go(to)

    def mark(self, start: int, end: int) -> None:
        start, end = self._line.extend_span(start, end)
        self._line.selection = Selection(self._line.location_of(start), self._line.location_of(end))

    def apply(self, change: TextEdit) -> None:
        start, end = (
            self._line.extend_span(change.start, change.end) if change.start < change.end else (change.start,) * 2
        )
        cursor = change.cursor if (start, end) == (change.start, change.end) else start
        self._line.apply(TextEdit(start, end, change.text, cursor))

    def undo(self) -> None:
        self._line.undo()

    def redo(self) -> None:
        self._line.redo()


@cache
def _elsewhere() -> frozenset[str]:
    """Return keys that are bound outside of the text area."""
    return frozenset(key for each in KEYS if each.owner in ("prompt", "chat", "app") for key in each.keys.split(","))


if TYPE_CHECKING:
    _: type[Field] = InputField
