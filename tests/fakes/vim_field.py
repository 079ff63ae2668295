"""Text with a cursor and undo, for the vi keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.widgets.prompt.line_edits import TextEdit
from cinch_tui.widgets.prompt.vim.state_machine import Vim

if TYPE_CHECKING:
    from cinch_tui.widgets.prompt.vim.operators import Field


class PlainField:
    def __init__(self, text: str, index: int) -> None:
        self.text = text
        self.index = index
        self.marked = ""
        self._before: list[tuple[str, int]] = []
        self._after: list[tuple[str, int]] = []

    def extend_span(self, start: int, end: int) -> tuple[int, int]:
        return start, end

    def move_to(self, index: int) -> None:
        assert 0 <= index <= len(self.text)
        self.marked = ""
        self.index = index

    def mark(self, start: int, end: int) -> None:
        self.marked = self.text[start:end]

    def change(self, edit: TextEdit) -> None:
        assert 0 <= edit.start <= edit.end <= len(self.text)
        self._before.append((self.text, self.index))
        self._after.clear()
        self.text = self.text[: edit.start] + edit.text + self.text[edit.end :]
        self.move_to(edit.cursor)

    def undo(self) -> None:
        if self._before:
            self._after.append((self.text, self.index))
            self.text, self.index = self._before.pop()

    def redo(self) -> None:
        if self._after:
            self._before.append((self.text, self.index))
            self.text, self.index = self._after.pop()


if TYPE_CHECKING:
    _: type[Field] = PlainField


def press(vim: Vim, field: PlainField, keys: str) -> list[str]:
    """Press the keys one by one and return their effects: `␛` is Esc, `^R` Ctrl+R."""
    outcomes: list[str] = []
    for key in keys.replace("^R", "®"):
        outcome = vim.key({"␛": "escape", "®": "ctrl+r"}.get(key, key))
        if outcome == "left" and key not in "␛®":
            field.change(TextEdit(field.index, field.index, key, field.index + 1))
        outcomes.append(outcome)
    return outcomes
