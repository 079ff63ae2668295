"""Model list of an account in a region; pure."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import JsonValue
from providers.model_catalog.listing import entries_of, listed
from providers.model_catalog.metadata import ListedModel, ModelMetadata

MODELS = "/foundation-models?byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are available only through an inference profile, which distributes requests over regions."""


def models_in(profiles: JsonValue, models: JsonValue) -> list[ListedModel]:
    """Return the usable models: the profiles, then the models that can be invoked without one."""
    known = {model.id: model.metadata for model in listed(models)}
    # A profile's name is the model's with a region prefix.
    profiles_listed = [
        ListedModel(name, known.get(name.partition(".")[2], ModelMetadata())) for name in _profile_ids(profiles)
    ]
    profile_only = set(_profile_only(models))
    return [*profiles_listed, *(ListedModel(name, each) for name, each in known.items() if name not in profile_only)]


def _profile_ids(profiles: JsonValue) -> Iterator[str]:
    entries = profiles.get("inferenceProfileSummaries") if isinstance(profiles, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case {"inferenceProfileId": str(name)}:
                yield name
            case _:
                pass


def _profile_only(models: JsonValue) -> Iterator[str]:
    """Yield the models that state how they can be invoked, but not on demand."""
    for entry in entries_of(models):
        match entry:
            case {"modelId": str(name), "inferenceTypesSupported": list() as types} if "ON_DEMAND" not in types:
                yield name
            case _:
                pass
