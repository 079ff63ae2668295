"""How far a run may go."""

from __future__ import annotations

import time
from dataclasses import field

from harness.agent.cost import Ledger
from harness.events import LimitReached
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Zero means unlimited. `max_tokens` counts input and output of the run; `max_cost` is in US dollars.

    A cost that is not known cannot be limited.
    """

    max_turns: int = 50
    max_tokens: int = 0
    max_seconds: float = 0.0
    max_cost: float = 0.0


@dataclass(slots=True)
class Meter:
    """What a run has used."""

    limits: Limits
    turns: int = 0
    planning_turns: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    started: float = field(default_factory=time.monotonic)

    def exceeded(self) -> LimitReached | None:
        """The limit that forbids another turn."""
        most = self.limits.max_turns
        if most and self.turns >= most:
            return LimitReached(limit="turns", message=f"the limit of {most} turns is reached")
        return self.spent()

    def spent(self) -> LimitReached | None:
        """The limit on tokens, time or money that is reached."""
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
