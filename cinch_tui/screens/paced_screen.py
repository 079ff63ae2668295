"""Frame-limited screen: paints program output in few frames, but user input immediately.

A running agent changes the screen every few milliseconds, more often than painting pays off.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cinch_tui.screens.selection_screen import SelectingScreen

FRAME = 1 / 30
"""Minimum seconds between frames without user input."""


class PacedScreen(SelectingScreen[object]):
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
