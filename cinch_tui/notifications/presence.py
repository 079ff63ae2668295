"""User presence: last key press, and focus of the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

COMPOSING = 15.0
"""Seconds after a key during which a user with an unfinished prompt counts as typing."""
IDLE = 5.0
"""Seconds without a key after which the user counts as away, if the terminal does not report its focus."""

AT_THE_KEYS = 0.1
"""Seconds after a key during which the user waits for its effect."""


class Presence:
    """Presence of the user. `is_looking` is None until the terminal reports its focus; some never do."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._typed_at = clock() - IDLE
        self.is_looking: bool | None = None

    def typed(self) -> None:
        self._typed_at = self._clock()
        if self.is_looking is False:
            self.is_looking = True

    @property
    def since_key_s(self) -> float:
        """Return the seconds since the last key."""
        return self._clock() - self._typed_at

    @property
    def is_composing(self) -> bool:
        """Return True while the user may be typing; relevant if the prompt is not empty."""
        return self.since_key_s < COMPOSING

    @property
    def is_pressing_keys(self) -> bool:
        return self.since_key_s < AT_THE_KEYS

    @property
    def is_away(self) -> bool:
        return not self.is_looking if self.is_looking is not None else self.idle_in <= 0

    @property
    def idle_in(self) -> float:
        """Return the seconds until the user counts as idle."""
        return IDLE - self.since_key_s
