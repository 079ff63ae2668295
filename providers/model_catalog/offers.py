"""Which models a provider offers, and what is known of each: by its server's word, by the price data, by its name."""

from __future__ import annotations

import asyncio

from harness.errors import NetworkError
from harness.lazy_dataclass import dataclass
from providers import Credentials, Service, endpoint_of
from providers.catalog import Preset
from providers.installed import described_model, service_at
from providers.model_catalog.capabilities import capabilities_by_name
from providers.model_catalog.metadata import ListedModel, MetadataSource, ModelMetadata, metadata_of
from providers.model_catalog.prices import look_up, priced_models
from providers.model_catalog.version_order import newest_first

PATIENCE = 5.0
"""Seconds that a service gets to say what it serves."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A model to be had from a provider; `is_listed`: its server says so, and not only the price data."""

    provider: str
    model_id: str
    metadata: ModelMetadata
    is_listed: bool = True

    @property
    def name(self) -> str:
        """Name as `connect` takes it."""
        return f"{self.provider}/{self.model_id}"


async def priced_offers(preset: Preset) -> list[Offer]:
    """What the price data knows of the provider, the highest version of each family first."""
    known = await asyncio.to_thread(priced_models, preset)
    return [
        Offer(preset.name, name, each.completed_by(capabilities_by_name(preset, name)), is_listed=False)
        for name, each in sorted(known.items(), key=lambda item: newest_first(item[0]))
    ]


async def served_offers(
    preset: Preset, *, base_url: str | None = None, credentials: Credentials | None = None, seconds: float = PATIENCE
) -> list[Offer]:
    """What the server says it serves, the newest first, if only by name; the price data fills what it does not tell.

    Raises:
        ConfigError: no key was found, or no address.
        ProviderError: it did not answer as it should.
    """
    service = service_at(await asyncio.to_thread(endpoint_of, preset, base_url, credentials))
    try:
        async with asyncio.timeout(seconds):
            # The HTTP client is costly to build.
            await asyncio.to_thread(service.warm)
            found = await _listed(service)
    except TimeoutError as error:
        raise NetworkError(f"{preset.label} did not say within {seconds:g} s what it serves") from error
    finally:
        await service.close()
    found = sorted(found, key=lambda model: (-model.created, newest_first(model.id)))
    return await asyncio.to_thread(_offers, preset, found)


async def _listed(service: Service) -> list[ListedModel]:
    if isinstance(service, MetadataSource):
        return await service.listed()
    return [ListedModel(name) for name in await service.models()]


def _offers(preset: Preset, found: list[ListedModel]) -> list[Offer]:
    return [Offer(preset.name, model.id, _completed(preset, model)) for model in found]


def _completed(preset: Preset, model: ListedModel) -> ModelMetadata:
    told = described_model(preset, model.id)
    known = model.metadata.completed_by(metadata_of(told)) if told else model.metadata
    if known.price is None or known.context_window is None:
        known = known.completed_by(look_up(preset.prices, model.id))
    return known.completed_by(capabilities_by_name(preset, model.id))
