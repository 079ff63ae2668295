"""Text area with readline keys: words, kill ring, swapping, case, undo."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

from textual.actions import SkipAction
from textual.widgets import TextArea

from cinch_tui.keybindings.keymap import bindings
from cinch_tui.widgets.prompt.line_edits import (
    Change,
    blank_word_start,
    line_end,
    line_start,
    recased_word,
    swapped_letters,
    swapped_words,
    word_end,
    word_start,
)

Place: TypeAlias = Callable[[str, int], int]
"""Maps a text and a position to the target position."""
_Command: TypeAlias = Literal["kill", "yank", ""]


class LineInput(TextArea, inherit_bindings=False):
    """Readline editing. Call `begin_command` before each key, since some keys depend on the previous one."""

    BINDINGS = bindings("line")

    def __init__(self) -> None:
        super().__init__(highlight_cursor_line=False, tab_behavior="focus")
        self._kills = KillRing()
        self._command: _Command = ""
        self._last_command: _Command = ""
        self._yanked = (0, 0)

    @property
    def index(self) -> int:
        """Return the cursor position in characters."""
        return self._index(self.cursor_location)

    def begin_command(self) -> None:
        self._last_command, self._command = self._command, ""

    def whole(self, start: int, end: int) -> tuple[int, int]:
        """Extend the span to units that must not be split."""
        return start, end

    def go(self, index: int, *, select: bool = False) -> None:
        self.move_cursor(self.location_of(index), select=select)

    def apply(self, change: Change | None) -> None:
        """Change the text as one undo step."""
        if change is None:
            return
        self.history.checkpoint()
        start, end = self.location_of(change.start), self.location_of(change.end)
        self.replace(change.text, start, end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.go(change.cursor)

    def kill(self, start: int, end: int, *, is_backward: bool) -> str:
        """Cut the span, or the selection, into the kill ring."""
        if not self.selection.is_empty:
            start, end = sorted(map(self._index, self.selection))
        start, end = self.whole(start, end)
        killed = self.text[start:end]
        if killed:
            self._keep(killed, is_backward=is_backward)
            self.apply(Change(start, end, "", start))
        self._command = "kill"
        return killed

    def _keep(self, killed: str, *, is_backward: bool) -> None:
        if self._last_command == "kill":
            self._kills.join(killed, before=is_backward)
        else:
            self._kills.keep(killed)

    def _kill_to(self, place: Place) -> None:
        here = self.index
        there = place(self.text, here)
        self.kill(min(here, there), max(here, there), is_backward=there < here)

    def _index(self, location: tuple[int, int]) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_of(self, index: int) -> tuple[int, int]:
        """Return row and column of a position."""
        before = self.text[:index]
        return before.count("\n"), index - (before.rfind("\n") + 1)

    def action_kill_word(self) -> None:
        self._kill_to(word_end)

    def action_kill_word_back(self) -> None:
        self._kill_to(word_start)

    def action_kill_blank_word_back(self) -> None:
        self._kill_to(blank_word_start)

    def action_kill_line(self) -> None:
        self._kill_to(line_end)

    def action_kill_line_back(self) -> None:
        self._kill_to(line_start)

    def action_yank(self) -> None:
        here = self.index
        self._put_yanked(here, here, self._kills.latest)

    def action_yank_other(self) -> None:
        if self._last_command == "yank":
            self._put_yanked(*self._yanked, self._kills.turn())

    def _put_yanked(self, start: int, end: int, text: str) -> None:
        self.apply(Change(start, end, text, start + len(text)))
        self._yanked = (start, start + len(text))
        self._command = "yank"

    def action_word_right(self) -> None:
        self.go(word_end(self.text, self.index))

    def action_word_left(self) -> None:
        self.go(word_start(self.text, self.index))

    def action_letter_right(self) -> None:
        if self.cursor_at_end_of_text:
            raise SkipAction
        self.action_cursor_right()

    def action_letter_left(self) -> None:
        self.action_cursor_left()

    def action_erase_letter(self) -> None:
        self.action_delete_left()

    def action_swap_letters(self) -> None:
        self.apply(swapped_letters(self.text, self.index))

    def action_swap_words(self) -> None:
        self.apply(swapped_words(self.text, self.index))

    def action_upper_word(self) -> None:
        self.apply(recased_word(self.text, self.index, str.upper))

    def action_lower_word(self) -> None:
        self.apply(recased_word(self.text, self.index, str.lower))

    def action_capital_word(self) -> None:
        self.apply(recased_word(self.text, self.index, _capital))

    def action_undo(self) -> None:
        self.undo()

    def action_redo(self) -> None:
        self.redo()


def _capital(word: str) -> str:
    """Capitalize the first letter, after leading punctuation."""
    start = next((index for index, letter in enumerate(word) if letter.isalnum()), 0)
    return word[:start] + word[start : start + 1].upper() + word[start + 1 :].lower()


MAX_KILLS = 60


class KillRing:
    def __init__(self) -> None:
        self._kills: deque[str] = deque(maxlen=MAX_KILLS)

    def keep(self, text: str) -> None:
        self._kills.append(text)

    def join(self, text: str, *, before: bool) -> None:
        """Extend the latest text: consecutive kills form one text."""
        latest = self._kills.pop() if self._kills else ""
        self._kills.append(text + latest if before else latest + text)

    @property
    def latest(self) -> str:
        return self._kills[-1] if self._kills else ""

    def turn(self) -> str:
        """Rotate the ring; return the new latest text."""
        self._kills.rotate(1)
        return self.latest
