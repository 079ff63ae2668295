"""What is known of a model, whoever says it: its server, the price data, or its name."""

from __future__ import annotations

from dataclasses import fields
from typing import Protocol, runtime_checkable

from harness.lazy_dataclass import dataclass
from harness.ports.provider import ModelInfo, Price


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """As `ModelFacts`, but without any usual value: None where nobody says."""

    context_window: int | None = None
    max_output: int | None = None
    price: Price | None = None
    images: bool | None = None
    tools: bool | None = None
    thinking: bool | None = None

    def completed_by(self, other: ModelMetadata) -> ModelMetadata:
        """This, with what it lacks from the other."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        theirs = {field.name: getattr(other, field.name) for field in fields(other)}
        return ModelMetadata(**{name: theirs[name] if value is None else value for name, value in mine.items()})

    @property
    def model_info(self) -> ModelInfo:
        window = self.context_window or ModelInfo().context_window
        return ModelInfo(window, self.max_output, self.price, self.images, self.tools, self.thinking)


def metadata_of(facts: ModelInfo) -> ModelMetadata:
    return ModelMetadata(facts.context_window, facts.max_output, facts.price, facts.images, facts.tools, facts.thinking)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model on its server's list, and what the list tells of it; `created` in seconds, 0 where it is not told."""

    id: str
    metadata: ModelMetadata = ModelMetadata()
    created: float = 0


@runtime_checkable
class MetadataSource(Protocol):
    """A service that tells more of its models than their names."""

    async def listed(self) -> list[ListedModel]:
        """What the service says it serves; raises ProviderError."""
        ...


@runtime_checkable
class ServerMetadataSource(Protocol):
    async def model_metadata(self, model_id: str) -> ModelMetadata:
        """What the model's server tells of it; raises ProviderError."""
        ...
