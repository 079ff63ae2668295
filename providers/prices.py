"""Prices and windows of models, from genai-prices: slow to import, so loaded in a thread, when somebody asks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from harness.provider import ModelFacts, Price
from providers.catalog import Preset

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

    from harness.provider import Facts


class PricedFacts:
    """Facts of one model from genai-prices; a model it does not know has the usual window and no price."""

    def __init__(self, preset: Preset, model_id: str) -> None:
        self._prices = preset.prices
        self._model_id = model_id
        self._now: ModelFacts | None = None if preset.prices else ModelFacts()

    @property
    def now(self) -> ModelFacts | None:
        return self._now

    async def load(self) -> ModelFacts:
        if self._now is None:
            self._now = await asyncio.to_thread(_look_up, self._prices, self._model_id)
        return self._now


def _look_up(provider: str, model_id: str) -> ModelFacts:
    # The import takes a quarter of a second.
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(model_id, None, provider, None)
    except LookupError:
        return ModelFacts()
    usual = ModelFacts()
    return ModelFacts(model.context_window or usual.context_window, usual.max_output, _price(model))


def _price(model: ModelInfo) -> Price | None:
    prices = model.get_prices(datetime.now(UTC), None)
    paid, written = _base_price(prices, "input"), _base_price(prices, "output")
    if paid is None or written is None:
        return None
    read, stored = _base_price(prices, "cache_read"), _base_price(prices, "cache_write")
    kept = _base_price(prices, "cache_write_1h")
    # Where no price of its own is known, cached input is counted as plain input, and what is kept for an hour as twice
    # that, which is what all services with such an offer take: rather too much than too little.
    return Price(
        paid,
        written,
        paid if read is None else read,
        paid if stored is None else stored,
        2 * paid if kept is None else kept,
    )


def _base_price(prices: ModelPrice, what: str) -> float | None:
    """Dollars per million tokens, without the surcharge some models have for very long prompts."""
    price = getattr(prices, f"{what}_mtok", None)
    price = getattr(price, "base", price)
    return None if price is None else float(price)


if TYPE_CHECKING:
    _: type[Facts] = PricedFacts
