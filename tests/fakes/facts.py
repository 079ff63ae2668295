"""Model information for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.ports.provider import ModelInfo, ModelInfoSource, Price


class SlowFacts:
    """Model information that is known only after it has been awaited."""

    def __init__(self, price: Price | None = None) -> None:
        self.now: ModelInfo | None = None
        self._price = price

    async def load(self) -> ModelInfo:
        self.now = ModelInfo(price=self._price)
        return self.now


if TYPE_CHECKING:
    _: type[ModelInfoSource] = SlowFacts
