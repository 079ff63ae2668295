"""Model metadata from any source: its server, the price data, or its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import asdict, replace

from harness.ports.provider import ModelInfo, ModelInfoSource, Price

FREE = Price(0.0, 0.0)


class ModelMetadata(Struct, frozen=True):
    """Like `ModelInfo`, but without default values: None means unknown."""

    context_window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    images: bool | None = None
    tools: bool | None = None
    thinking: bool | None = None

    def completed_by(self, other: ModelMetadata) -> ModelMetadata:
        """Return this metadata with missing values from another."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(other, **known)

    @property
    def model_info(self) -> ModelInfo:
        window = self.context_window or ModelInfo().context_window
        return ModelInfo(window, self.max_output, self.price, self.images, self.tools, self.thinking)


def metadata_of(info: ModelInfo) -> ModelMetadata:
    return ModelMetadata(**asdict(info))


class LazyModelInfo(ModelInfoSource):
    """Model information that is looked up once, when it is first needed."""

    def __init__(self, look_up: Callable[[], Awaitable[ModelInfo]]) -> None:
        self._look_up = look_up
        self._now: ModelInfo | None = None

    @property
    def now(self) -> ModelInfo | None:
        return self._now

    async def load(self) -> ModelInfo:
        if self._now is None:
            self._now = await self._look_up()
        return self._now


class ListedModel(Struct, frozen=True):
    """An entry of a server's model list."""

    id: str
    metadata: ModelMetadata = ModelMetadata()
    created: float = 0
    """Seconds since 1970; 0 if unknown."""


@runtime_checkable
class MetadataSource(Protocol):
    """A service that lists its models with metadata."""

    async def listed(self) -> list[ListedModel]:
        """Return the models that the service lists; raises ProviderError."""
        ...


@runtime_checkable
class ServerMetadataSource(Protocol):
    """A local server that describes its models."""

    async def model_metadata(self, model_id: str) -> ModelMetadata:
        """Return the server's metadata of a model; raises ProviderError."""
        ...
