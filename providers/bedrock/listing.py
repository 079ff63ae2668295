"""The models of an account in a region, as Bedrock lists them; pure."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import JsonValue
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel, ModelMetadata

MODELS = "/foundation-models?byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are only reached through a profile, which spreads requests over regions."""


def models_in(profiles: JsonValue, models: JsonValue) -> list[ListedModel]:
    """What can be asked: the profiles, then the models that can be asked without one."""
    known = {model.id: model.metadata for model in listed(models)}
    # The name of a profile is the model's, with where it may run before it.
    spread = [ListedModel(name, known.get(name.partition(".")[2], ModelMetadata())) for name in _profile_ids(profiles)]
    only_spread = set(_only_spread(models))
    return [*spread, *(ListedModel(name, each) for name, each in known.items() if name not in only_spread)]


def _profile_ids(profiles: JsonValue) -> Iterator[str]:
    entries = profiles.get("inferenceProfileSummaries") if isinstance(profiles, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"inferenceProfileId": str(name)}:
                yield name
            case _:
                pass


def _only_spread(models: JsonValue) -> Iterator[str]:
    """The models that say how they can be asked, and not that they can be asked directly."""
    for entry in entries_of(models):
        match entry:
            case {"modelId": str(name), "inferenceTypesSupported": list() as ways} if "ON_DEMAND" not in ways:
                yield name
            case _:
                pass
