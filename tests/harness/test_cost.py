from __future__ import annotations

from harness.agent.limits import Ledger, with_price
from harness.messages import Cost, Usage
from harness.ports.provider import Price


def test_earlier_usage_is_priced_once_the_price_is_known():
    ledger = Ledger()
    ledger.add("a/one", Usage(input=1_000_000))

    ledger.settle("a/one", Price(3.0, 15.0))

    assert ledger.usage == Usage(input=1_000_000, cost=Cost(input=3.0))


def test_usage_of_an_unpriced_model_is_not_priced_as_another():
    ledger = Ledger()
    ledger.add("local/one", Usage(input=1_000_000))
    ledger.add("a/dear", Usage(output=1_000_000))

    ledger.settle("a/dear", Price(3.0, 15.0))

    assert ledger.usage == Usage(input=1_000_000, output=1_000_000, cost=Cost(output=15.0))


def test_usage_with_a_known_cost_is_not_priced_again():
    ledger = Ledger()
    ledger.add("a/one", Usage(input=1_000_000, cost=Cost(input=1.0)))

    ledger.settle("a/one", Price(3.0, 15.0))

    assert ledger.usage.cost == Cost(input=1.0)


def test_one_hour_cache_writes_have_their_own_price():
    usage = Usage(cache_write=3_000_000, cache_write_1h=2_000_000)

    dear = with_price(usage, Price(3.0, 15.0, 0.3, 3.75, 6.0)).cost
    plain = with_price(usage, Price(3.0, 15.0, 0.3, 3.75)).cost

    assert (dear, plain) == (Cost(cache_write=15.75), Cost(cache_write=11.25))


def test_one_hour_cache_writes_are_summed():
    both = Usage(cache_write=5, cache_write_1h=3) + Usage(cache_write=2, cache_write_1h=2)

    assert (both.cache_write, both.cache_write_1h) == (7, 5)


def test_searches_cost_extra_where_their_price_is_known():
    usage = Usage(input=1_000_000, searches=3) + Usage(searches=2)

    known = with_price(usage, Price(3.0, 15.0, searches=10.0)).cost
    unknown = with_price(usage, Price(3.0, 15.0)).cost

    assert (known, unknown) == (Cost(input=3.0, searches=0.05), Cost(input=3.0))
    assert known is not None
    assert known.total == 3.05
