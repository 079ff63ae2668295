"""Accounting of a run: usage and cost, its limits, and the meter that checks them."""

from __future__ import annotations

import time

from msgspec import Struct, field
from msgspec.structs import replace

from harness.events import LimitReached
from harness.messages import Cost, Usage
from harness.ports.provider import Price

PRICED_TOKENS = 1_000_000
"""Number of tokens that a price refers to."""

PRICED_SEARCHES = 1_000


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


def is_reached(limit: float, used: float) -> bool:
    """Return True if a limit or budget is set and used up; 0 = unlimited."""
    return 0 < limit <= used


def dollars(usage: Usage) -> float:
    """Return the cost in US dollars; an unknown cost counts as 0."""
    return usage.cost.total if usage.cost else 0.0


def with_price(usage: Usage, price: Price | None) -> Usage:
    """Return the usage with its cost, unless the price is unknown or the provider reported the cost."""
    if price is None or usage.cost is not None:
        return usage
    hourly_price = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    cache_write = (usage.cache_write - usage.cache_write_1h) * price.cache_write + usage.cache_write_1h * hourly_price
    cost = Cost(
        usage.input * price.input / PRICED_TOKENS,
        usage.output * price.output / PRICED_TOKENS,
        usage.cache_read * price.cache_read / PRICED_TOKENS,
        cache_write / PRICED_TOKENS,
        usage.searches * (price.searches or 0.0) / PRICED_SEARCHES,
    )
    return replace(usage, cost=cost)


class Ledger(Struct):
    """Accumulated usage. Usage of a model without a known price is kept per model and priced when its price arrives."""

    priced: Usage = Usage()
    unpriced: dict[str, Usage] = {}

    @property
    def usage(self) -> Usage:
        return sum(self.unpriced.values(), self.priced)

    def add(self, model: str, usage: Usage) -> None:
        """Add usage of a model, named `provider/model`."""
        if usage.cost is None:
            self.unpriced[model] = self.unpriced.get(model, Usage()) + usage
        else:
            self.priced += usage

    def absorb(self, other: Ledger) -> None:
        """Add the usage of another ledger."""
        self.priced += other.priced
        for model, usage in other.unpriced.items():
            self.add(model, usage)

    def settle(self, model: str, price: Price | None) -> None:
        if price is not None and model in self.unpriced:
            self.priced += with_price(self.unpriced.pop(model), price)


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
        if is_reached(limit, self.turns):
            return LimitReached(limit="turns", message=f"the limit of {limit} turns is reached")
        return self.spent()

    def spent(self) -> LimitReached | None:
        """Return the limit on tokens, time or cost that is reached, or None."""
        limits, usage = self.limits, self.ledger.usage
        cost = dollars(usage)
        if is_reached(limits.max_tokens, usage.context):
            return LimitReached(limit="tokens", message=f"the limit of {limits.max_tokens:,} tokens is reached")
        if is_reached(limits.max_seconds, time.monotonic() - self.started):
            return LimitReached(limit="seconds", message=f"the limit of {limits.max_seconds:g} seconds is reached")
        if is_reached(limits.max_cost, cost):
            return LimitReached(limit="cost", message=f"the limit of ${limits.max_cost:g} is spent (${cost:.4f})")
        return None
