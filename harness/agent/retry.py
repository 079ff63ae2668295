"""Retries of failed model calls: the port, and exponential back-off with jitter and a cap. Nothing else retries."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from harness.errors import ProviderError
from harness.lazy_dataclass import dataclass


class RetryStrategy(Protocol):
    """Port: decides whether a failed model call is made again, and when. Any object with these methods will do.

    One that raises, or returns something else, ends the run with a `StreamError` that says so.
    """

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        """Return whether to retry after attempt number `attempt` (from 1) failed with `error`."""
        ...

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait before the retry; None gives up. Called only if `should_retry` returns True."""
        ...


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

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        """Return whether the error is transient, attempts are left, and the requested wait is not too long."""
        if not error.retryable or attempt > self.max_retries:
            return False
        return error.retry_after is None or error.retry_after <= self.max_retry_after

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait after attempt number `attempt` (from 1) failed; None: give up."""
        if not self.should_retry(error, attempt):
            return None
        if error.retry_after is not None:
            return error.retry_after
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


def retry_delay(strategy: RetryStrategy, error: ProviderError, attempt: int) -> float | None:
    """Return the seconds to wait before a model call is made again; None: give up.

    Raises:
        TypeError, ValueError: The strategy returned something else than it promises.
    """
    wanted = strategy.should_retry(error, attempt)
    if not isinstance(wanted, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"should_retry returned {type(wanted).__name__}, not a bool")
    delay = strategy.delay(error, attempt) if wanted else None
    if delay is None:
        return None
    if not isinstance(delay, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"delay returned {type(delay).__name__}, not seconds")
    if not 0 <= delay < math.inf:
        raise ValueError(f"delay returned {delay} seconds")
    return delay


if TYPE_CHECKING:
    _: type[RetryStrategy] = RetryPolicy
