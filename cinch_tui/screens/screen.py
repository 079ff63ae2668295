"""Bases of all screens, and the messages from a dialog to the chat screen below it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from textual.message import Message
from textual.screen import Screen

from cinch_tui.data_message import DataMessage

ResultT = TypeVar("ResultT")
FRAME = 1 / 30
"""Minimum seconds between frames without user input."""


class SelectingScreen(Screen[ResultT]):
    """Screen with robust text selection."""

    def get_selected_text(self) -> str | None:
        """Return the selected text; None if it no longer exists."""
        try:
            return super().get_selected_text()
        except IndexError:
            # Textual indexes lines that a shortened text no longer has.
            self.clear_selection()
            return None


class FrameLimitedScreen(SelectingScreen[object]):
    """Screen that paints program output in few frames, but user input immediately.

    A running agent changes the screen every few milliseconds, more often than painting pays off.
    """

    clock: Callable[[], float] = staticmethod(monotonic)
    _painted_at = 0.0

    @property
    def is_awaited(self) -> bool:
        """Return True if the user is waiting for the effect of a key."""
        raise NotImplementedError

    # Textual has one fixed frame rate and no public hook to change it.
    def _on_timer_update(self) -> None:
        now = self.clock()
        if self._only_paints and now < self._painted_at + FRAME and not self.is_awaited:
            # The timer fires again.
            return
        self._painted_at = now
        super()._on_timer_update()

    @property
    def _only_paints(self) -> bool:
        waits = self._layout_required or self._scroll_required or self._recompose_required or self._callbacks
        return not waits and self.is_current


class Interrupted(Message):
    """Ctrl+C in a dialog; the screen below decides what to stop."""


class Covered(DataMessage):
    """Number of rows at the bottom that a docked dialog covers; 0 when it closes."""

    rows: int


class ScrollConversation(DataMessage):
    """Scroll the transcript by this many lines; negative: up."""

    lines: int
