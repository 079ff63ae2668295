"""Text area with readline keys: words, kill ring, swapping, case, undo."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partialmethod
from typing import Literal, TypeAlias

from textual.actions import SkipAction
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.widgets.prompt.line_edits import (
    TextEdit,
    blank_word_start,
    capitalized,
    line_end,
    line_start,
    recased_word,
    swapped_letters,
    swapped_words,
    word_end,
    word_start,
)

MAX_KILLS = 60

Place: TypeAlias = Callable[[str, int], int]
"""Maps a text and a position to the target position."""
_Command: TypeAlias = Literal["kill", "yank", ""]


class LineInput(TextArea, inherit_bindings=False):
    """Readline editing. Call `begin_command` before each key, since some keys depend on the previous one."""

    BINDINGS = bindings("line")

    def __init__(self) -> None:
        super().__init__(highlight_cursor_line=False, tab_behavior="focus")
        self._kills: deque[str] = deque(maxlen=MAX_KILLS)
        self._command: _Command = ""
        self._last_command: _Command = ""
        self._yanked = (0, 0)

    @property
    def index(self) -> int:
        """Return the cursor position in characters."""
        return self._index(self.cursor_location)

    def begin_command(self) -> None:
        self._last_command, self._command = self._command, ""

    def extend_span(self, start: int, end: int) -> tuple[int, int]:
        """Extend the span to units that must not be split."""
        return start, end

    def go(self, index: int) -> None:
        self.move_cursor(self.location_of(index))

    def move_to(self, index: int) -> None:
        """Move the cursor, and skip a unit that must not be split in the direction of the move."""
        start, end = self.extend_span(index, index + 1)
        self.go((end if self.index < index else start) if start < index < end else index)

    def mark(self, start: int, end: int) -> None:
        """Select a span, extended to units that must not be split."""
        start, end = self.extend_span(start, end)
        self.selection = Selection(self.location_of(start), self.location_of(end))

    def change(self, edit: TextEdit) -> None:
        """Change the text as one undo step, extended to units that must not be split."""
        start, end = self.extend_span(edit.start, edit.end) if edit.start < edit.end else (edit.start, edit.end)
        is_extended = (start, end) != (edit.start, edit.end)
        self.apply(TextEdit(start, end, edit.text, start if is_extended else edit.cursor))

    def apply(self, change: TextEdit | None) -> None:
        """Change the text as one undo step."""
        if change is None:
            return
        self.history.checkpoint()
        start, end = self.location_of(change.start), self.location_of(change.end)
        self.replace(change.text, start, end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.go(change.cursor)

    def _kill_to(self, place: Place) -> None:
        """Cut to the place, or the selection, into the kill ring."""
        here = self.index
        there = place(self.text, here)
        ends = (here, there) if self.selection.is_empty else map(self._index, self.selection)
        start, end = self.extend_span(*sorted(ends))
        if killed := self.text[start:end]:
            # Consecutive kills form one text.
            latest = self._kills.pop() if self._last_command == "kill" and self._kills else ""
            self._kills.append(killed + latest if there < here else latest + killed)
            self.apply(TextEdit(start, end, "", start))
        self._command = "kill"

    def _index(self, location: tuple[int, int]) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_of(self, index: int) -> tuple[int, int]:
        """Return row and column of a position."""
        before = self.text[:index]
        return before.count("\n"), index - (before.rfind("\n") + 1)

    action_kill_word = partialmethod(_kill_to, word_end)
    action_kill_word_back = partialmethod(_kill_to, word_start)
    action_kill_blank_word_back = partialmethod(_kill_to, blank_word_start)
    action_kill_line = partialmethod(_kill_to, line_end)
    action_kill_line_back = partialmethod(_kill_to, line_start)

    def action_yank(self) -> None:
        here = self.index
        self._put_yanked(here, here)

    def action_yank_other(self) -> None:
        if self._last_command == "yank":
            self._kills.rotate(1)
            self._put_yanked(*self._yanked)

    def _put_yanked(self, start: int, end: int) -> None:
        text = self._kills[-1] if self._kills else ""
        self.apply(TextEdit(start, end, text, start + len(text)))
        self._yanked = (start, start + len(text))
        self._command = "yank"

    def _go_to(self, place: Place) -> None:
        self.move_to(place(self.text, self.index))

    action_word_right = partialmethod(_go_to, word_end)
    action_word_left = partialmethod(_go_to, word_start)

    def action_letter_right(self) -> None:
        if self.cursor_at_end_of_text:
            raise SkipAction
        self.action_cursor_right()

    def action_swap_letters(self) -> None:
        self.apply(swapped_letters(self.text, self.index))

    def action_swap_words(self) -> None:
        self.apply(swapped_words(self.text, self.index))

    def _recase(self, case: Callable[[str], str]) -> None:
        self.apply(recased_word(self.text, self.index, case))

    action_upper_word = partialmethod(_recase, str.upper)
    action_lower_word = partialmethod(_recase, str.lower)
    action_capital_word = partialmethod(_recase, capitalized)
