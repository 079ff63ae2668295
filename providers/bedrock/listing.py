"""The models of an account in a region, as Bedrock lists them; pure."""

from __future__ import annotations

from collections.abc import Iterator

from harness.messages import JsonValue

MODELS = "/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT"
PROFILES = "/inference-profiles?maxResults=1000"
"""Newer models are only reached through a profile, which spreads requests over regions."""


def profile_ids(answer: JsonValue) -> Iterator[str]:
    for entry in _entries(answer, "inferenceProfileSummaries"):
        match entry:
            case {"inferenceProfileId": str(profile_id)}:
                yield profile_id
            case _:
                pass


def model_ids(answer: JsonValue) -> Iterator[str]:
    """Those that can stream."""
    for entry in _entries(answer, "modelSummaries"):
        match entry:
            case {"responseStreamingSupported": False}:
                pass
            case {"modelId": str(model_id)}:
                yield model_id
            case _:
                pass


def _entries(answer: JsonValue, name: str) -> list[JsonValue]:
    entries = answer.get(name) if isinstance(answer, dict) else None
    return entries if isinstance(entries, list) else []
