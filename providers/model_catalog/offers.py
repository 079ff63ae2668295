"""Models of a provider with their metadata: from its server, from the price data, by name."""

from __future__ import annotations

import asyncio
import re

from msgspec import Struct

from harness.errors import NetworkError
from providers import Credentials, endpoint_of
from providers.gemini.models import generation
from providers.installed import described_model, service_at
from providers.model_catalog.metadata import ListedModel, MetadataSource, ModelMetadata, metadata_of
from providers.model_catalog.prices import look_up, priced_models
from providers.openai_chat.models import reasons
from providers.preset import Preset

LIST_SECONDS = 5.0
"""Seconds to wait for a model list."""
IMAGES_AND_TOOLS = re.compile(
    r"claude-([a-z]+-)?[3-9]|"
    r"\bgpt-(4o|4\.1|4-turbo|[5-9])(?!.*(chat|search))|\bo(1|3|4-mini)(?!-(mini|preview))\b|"
    r"\bgemini-(1\.5|[2-9])"
)
THINKS = re.compile(r"claude-(3[.-]7|([a-z]+-)?[4-9])")
LATEST, UNNUMBERED = (1000, 0), (-1, 0)
# Years, sizes and windows are not versions: 2411, 70b, 32k, 8x7b.
_VERSION = re.compile(r"(?<![\d.])(\d{1,2})(?:[.-](\d{1,2})(?![\dbkmx]))?(?![\dbkmx])")


class Offer(Struct, frozen=True):
    """A model of a provider."""

    provider: str
    model_id: str
    metadata: ModelMetadata
    is_listed: bool = True
    """True if the server lists it, False if only the price data contains it."""

    @property
    def name(self) -> str:
        """Name as `connect` takes it."""
        return f"{self.provider}/{self.model_id}"


async def priced_offers(preset: Preset) -> list[Offer]:
    """Return the provider's models in the price data, the highest version of each family first."""
    known = await asyncio.to_thread(priced_models, preset)
    return [
        Offer(preset.name, name, each.completed_by(capabilities_by_name(preset, name)), is_listed=False)
        for name, each in sorted(known.items(), key=lambda item: newest_first(item[0]))
    ]


async def served_offers(
    preset: Preset,
    *,
    base_url: str | None = None,
    credentials: Credentials | None = None,
    seconds: float = LIST_SECONDS,
) -> list[Offer]:
    """Return the models that the server lists, the newest first; missing metadata comes from the price data.

    Raises:
        ConfigError: No key or address was found.
        ProviderError: The server could not be queried.
    """
    service = service_at(await asyncio.to_thread(endpoint_of, preset, base_url, credentials))
    try:
        async with asyncio.timeout(seconds):
            # Building the HTTP client is slow.
            await asyncio.to_thread(service.warm)
            listed = await service.listed() if isinstance(service, MetadataSource) else None
            found = [ListedModel(name) for name in await service.models()] if listed is None else listed
    except TimeoutError as error:
        raise NetworkError(f"{preset.label} did not list its models within {seconds:g} s") from error
    finally:
        await service.close()
    found = sorted(found, key=lambda model: (-model.created, newest_first(model.id)))
    return await asyncio.to_thread(_offers, preset, found)


def _offers(preset: Preset, found: list[ListedModel]) -> list[Offer]:
    return [Offer(preset.name, model.id, _completed(preset, model)) for model in found]


def _completed(preset: Preset, model: ListedModel) -> ModelMetadata:
    described = described_model(preset, model.id)
    known = model.metadata.completed_by(metadata_of(described)) if described else model.metadata
    if known.price is None or known.context_window is None:
        known = known.completed_by(look_up(preset.prices, model.id))
    return known.completed_by(capabilities_by_name(preset, model.id))


def capabilities_by_name(preset: Preset, model_id: str) -> ModelMetadata:
    capable = True if IMAGES_AND_TOOLS.search(model_id) else None
    thinks = (
        THINKS.search(model_id)
        or reasons(model_id)
        or generation(model_id) >= (2, 5)
        or any(rule.applies_to(model_id) for rule in preset.thinking)
    )
    tools = False if "tools" in preset.without else capable
    images = False if preset.is_text_only(model_id) else capable
    return ModelMetadata(images=images, tools=tools, thinking=True if thinks else None)


def newest_first(name: str) -> tuple[str, str, tuple[int, ...], str]:
    """Return the sort key of a name: folder, family, highest version first."""
    folder, _, own = name.lower().rpartition("/")
    family = re.match(r"[a-z]*", own)
    return folder, family[0] if family else "", tuple(-number for number in _version(own)), name


def _version(name: str) -> tuple[int, int]:
    if found := _VERSION.search(name):
        return int(found[1]), int(found[2] or 0)
    return LATEST if "latest" in name else UNNUMBERED
