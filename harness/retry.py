"""How patient we are with a model: exponential back-off with jitter and a cap. The only place that retries."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import field

from harness.errors import ProviderError
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Delays in seconds. `jitter` spreads a delay by that fraction either way, so that clients do not come in step;
    none is longer than `max_delay`.

    A service that asks for more than `max_retry_after` seconds is not waited for. A reply without a word is asked for
    `max_empty` times more, after `empty_delay` seconds, then twice that, and so on.
    """

    max_retries: int = 3
    initial: float = 1.0
    multiplier: float = 2.0
    max_delay: float = 30.0
    jitter: float = 0.2
    max_retry_after: float = 120.0
    max_empty: int = 2
    empty_delay: float = 0.5
    random: Callable[[], float] = field(default=random.random)

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Seconds to wait before attempt number `attempt` (from 1) is made again; None: give up."""
        if not error.retryable or attempt > self.max_retries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.max_retry_after else None
        spread = 1 + self.jitter * (2 * self.random() - 1)
        # At the cap clients must not come in step either, so there is room for the spread below it.
        return min(self._grown(attempt), self.max_delay / (1 + self.jitter)) * spread

    def _grown(self, attempt: int) -> float:
        try:
            return self.initial * self.multiplier ** (attempt - 1)
        except OverflowError:  # who retries for days comes to numbers that no float holds
            return math.inf


def in_words(seconds: float) -> str:
    """A wait as a person reads it: `0.5 s`, `30 s`, `5 min`."""
    if seconds >= 180:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f}".removesuffix(".0") + " s"
