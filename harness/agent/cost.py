"""What a reply costs."""

from __future__ import annotations

from dataclasses import field, replace

from harness.lazy_dataclass import dataclass
from harness.messages import Cost, Usage
from harness.ports.provider import Price

PER = 1_000_000


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost, if a price is known and the provider did not tell the cost itself."""
    if price is None or usage.cost is not None:
        return usage
    cost = Cost(
        usage.input * price.input / PER,
        usage.output * price.output / PER,
        usage.cache_read * price.cache_read / PER,
        _written(usage, price) / PER,
    )
    return replace(usage, cost=cost)


def _written(usage: Usage, price: Price) -> float:
    for_an_hour = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    return (usage.cache_write - usage.cache_write_1h) * price.cache_write + usage.cache_write_1h * for_an_hour


@dataclass(slots=True)
class Ledger:
    """What was used. What came before a model's price was known is priced when it is, and at that model's price."""

    priced: Usage = Usage()
    waiting: dict[str, Usage] = field(default_factory=dict[str, Usage])

    @property
    def usage(self) -> Usage:
        return sum(self.waiting.values(), self.priced)

    def add(self, model: str, usage: Usage) -> None:
        """Note what a model, named `provider/model`, has used."""
        if usage.cost is None:
            self.waiting[model] = self.waiting.get(model, Usage()) + usage
        else:
            self.priced += usage

    def absorb(self, other: Ledger) -> None:
        """Count what another has counted."""
        self.priced += other.priced
        for model, usage in other.waiting.items():
            self.waiting[model] = self.waiting.get(model, Usage()) + usage

    def settle(self, model: str, price: Price | None) -> None:
        if price is not None and model in self.waiting:
            self.priced += priced(self.waiting.pop(model), price)
