"""Whether the person is there: when they last pressed a key, and whether they look at this terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

COMPOSING = 15.0
"""Seconds after a key in which somebody with a half-written prompt may think of the next word."""
IDLE = 5.0
"""Seconds without a key after which nobody is taken to look, where the terminal does not tell."""

AT_THE_KEYS = 0.1
"""Seconds after a key in which somebody looks for what it did, or types the next one."""


class Presence:
    """`is_looking` is None until the terminal has told that it was left or come back to: some never do."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._typed_at = clock() - IDLE
        self.is_looking: bool | None = None

    def typed(self) -> None:
        self._typed_at = self._clock()
        if self.is_looking is False:
            self.is_looking = True

    @property
    def is_composing(self) -> bool:
        """Of somebody whose prompt is not empty."""
        return self._clock() - self._typed_at < COMPOSING

    @property
    def is_at_the_keys(self) -> bool:
        return self._clock() - self._typed_at < AT_THE_KEYS

    @property
    def is_away(self) -> bool:
        return not self.is_looking if self.is_looking is not None else self.idle_in <= 0

    @property
    def idle_in(self) -> float:
        """Seconds until nobody is taken to look, if no key comes."""
        return self._typed_at + IDLE - self._clock()
