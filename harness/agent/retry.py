"""Retries of failed model calls: the port, and exponential back-off with jitter and a cap. Nothing else retries."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from harness.errors import ProviderError


class RetryStrategy(Protocol):
    """Port: decides whether and when a failed model call is retried. Any object with these methods works.

    If it raises or returns another type, the run ends with a `StreamError`.
    """

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        """Return True to retry after attempt number `attempt` (from 1) failed with `error`."""
        ...

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait before the retry; None gives up. Called only if `should_retry` returned True."""
        ...


class RetryPolicy(Struct, frozen=True):
    """Exponential back-off with jitter."""

    max_retries: int = 3
    """Maximum number of retries."""
    initial: float = 1.0
    """First delay in seconds."""
    multiplier: float = 2.0
    """Factor between delays."""
    max_delay: float = 30.0
    """Longest delay in seconds."""
    jitter: float = 0.2
    """Random spread of a delay, as a fraction in either direction, so that clients do not retry in step."""
    max_retry_after: float = 120.0
    """Longest Retry-After to honor, in seconds; the call fails if the service asks for more."""
    max_empty: int = 2
    """Maximum number of retries of an empty reply."""
    empty_delay: float = 0.5
    """Seconds before the first retry of an empty reply, twice that before the second, and so on."""
    random: Callable[[], float] = random.random
    """Source of random numbers between 0 and 1."""

    def should_retry(self, error: ProviderError, attempt: int) -> bool:
        """Return True if the error is transient, retries are left, and the requested wait is not too long.

        `attempt` is the number of the failed attempt, from 1.
        """
        if not error.retryable or attempt > self.max_retries:
            return False
        return error.retry_after is None or error.retry_after <= self.max_retry_after

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait after attempt number `attempt` (from 1) failed; None gives up."""
        if not self.should_retry(error, attempt):
            return None
        if error.retry_after is not None:
            return error.retry_after
        spread = 1 + self.jitter * (2 * self.random() - 1)
        # Leave room for the spread below the cap, so that clients do not retry in step there either.
        return min(self._grown(attempt), self.max_delay / (1 + self.jitter)) * spread

    def _grown(self, attempt: int) -> float:
        try:
            return self.initial * self.multiplier ** (attempt - 1)
        except OverflowError:  # after days of retries
            return math.inf


def format_delay(seconds: float) -> str:
    """Return a wait for display: `0.5 s`, `30 s`, `5 min`."""
    if seconds >= 180:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f}".removesuffix(".0") + " s"


def retry_delay(strategy: RetryStrategy, error: ProviderError, attempt: int) -> float | None:
    """Return the seconds to wait before the retry of a model call; None gives up.

    Raises:
        TypeError, ValueError: The strategy returned an invalid value.
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
