"""A screen that paints what it is told in few frames, and what somebody types at once.

An agent at work tells of something every few milliseconds, and a frame costs more than most of that.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cinch_tui.screens.selecting import SelectingScreen

FRAME = 1 / 30
"""Seconds between frames that nobody waits for."""


class PacedScreen(SelectingScreen[object]):
    clock: Callable[[], float] = staticmethod(monotonic)
    _painted_at = 0.0

    @property
    def is_awaited(self) -> bool:
        """Whether somebody looks for what a key has done."""
        raise NotImplementedError

    # Textual has one rate for all frames, and no public name for this.
    def _on_timer_update(self) -> None:
        now = self.clock()
        if self._only_paints and now < self._painted_at + FRAME and not self.is_awaited:
            # Its timer goes on, and asks again.
            return
        self._painted_at = now
        super()._on_timer_update()

    @property
    def _only_paints(self) -> bool:
        waits = self._layout_required or self._scroll_required or self._recompose_required or self._callbacks
        return not waits and self.is_current
