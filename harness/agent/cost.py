"""Cost of replies, and the usage ledger of an agent."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import Cost, Usage
from harness.ports.provider import Price

PER = 1_000_000


def with_price(usage: Usage, price: Price | None) -> Usage:
    """Return the usage with its cost, unless the price is unknown or the provider reported the cost."""
    if price is None or usage.cost is not None:
        return usage
    cost = Cost(
        usage.input * price.input / PER,
        usage.output * price.output / PER,
        usage.cache_read * price.cache_read / PER,
        _cache_write_cost(usage, price) / PER,
    )
    return replace(usage, cost=cost)


def _cache_write_cost(usage: Usage, price: Price) -> float:
    hourly_price = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    return (usage.cache_write - usage.cache_write_1h) * price.cache_write + usage.cache_write_1h * hourly_price


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
            self.unpriced[model] = self.unpriced.get(model, Usage()) + usage

    def settle(self, model: str, price: Price | None) -> None:
        if price is not None and model in self.unpriced:
            self.priced += with_price(self.unpriced.pop(model), price)
