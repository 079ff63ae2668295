"""What a reply costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.messages import Cost, Usage
from harness.provider import Price

PER = 1_000_000


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost, if a price is known and the provider did not tell the cost itself."""
    if price is None or usage.cost is not None:
        return usage
    cost = Cost(
        usage.input * price.input / PER,
        usage.output * price.output / PER,
        usage.cache_read * price.cache_read / PER,
        usage.cache_write * price.cache_write / PER,
    )
    return replace(usage, cost=cost)


@dataclass(slots=True)
class Ledger:
    """What was used. What came before a price was known is priced when one is."""

    priced: Usage = Usage()
    unpriced: Usage = Usage()

    @property
    def usage(self) -> Usage:
        return self.priced + self.unpriced

    def add(self, usage: Usage) -> None:
        if usage.cost is None:
            self.unpriced += usage
        else:
            self.priced += usage

    def settle(self, price: Price | None) -> None:
        if price is not None and self.unpriced.context:
            self.priced += priced(self.unpriced, price)
            self.unpriced = Usage()
