"""Limits of a run, and the meter that checks them."""

from __future__ import annotations

import time

from msgspec import Struct, field

from harness.agent.cost import Ledger
from harness.events import LimitReached


class Limits(Struct, frozen=True):
    """Limits of a run; 0 = unlimited."""

    max_turns: int = 50
    """Maximum number of turns."""
    max_tokens: int = 0
    """Maximum number of tokens, input and output together."""
    max_seconds: float = 0.0
    """Maximum duration in seconds."""
    max_cost: float = 0.0
    """Maximum cost in US dollars; an unknown cost counts as 0."""


class Meter(Struct):
    """Consumption of a run."""

    limits: Limits
    turns: int = 0
    planning_turns: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    started: float = field(default_factory=time.monotonic)

    def exceeded(self) -> LimitReached | None:
        """Return the limit that allows no further turn, or None."""
        limit = self.limits.max_turns
        if limit and self.turns >= limit:
            return LimitReached(limit="turns", message=f"the limit of {limit} turns is reached")
        return self.spent()

    def spent(self) -> LimitReached | None:
        """Return the limit on tokens, time or cost that is reached, or None."""
        limits = self.limits
        usage = self.ledger.usage
        tokens = usage.context
        seconds = time.monotonic() - self.started
        cost = usage.cost.total if usage.cost else 0.0
        if limits.max_tokens and tokens >= limits.max_tokens:
            return LimitReached(limit="tokens", message=f"the limit of {limits.max_tokens:,} tokens is reached")
        if limits.max_seconds and seconds >= limits.max_seconds:
            return LimitReached(limit="seconds", message=f"the limit of {limits.max_seconds:g} seconds is reached")
        if limits.max_cost and cost >= limits.max_cost:
            return LimitReached(limit="cost", message=f"the limit of ${limits.max_cost:g} is spent (${cost:.4f})")
        return None
