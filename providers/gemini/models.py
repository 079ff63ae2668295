"""Features of a Gemini model, by its name: generation and thinking parameters.

2.5 takes a token budget, later models a level, which cannot be off; earlier ones do not think.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from harness.messages import JsonObject, ModelSpec
from harness.thinking_level import ThinkingLevel

Version: TypeAlias = tuple[int, int]

LATEST: Version = (3, 8)
"""Generation of names such as `gemini-flash-latest`."""
BUDGETS: Mapping[ThinkingLevel, int] = {
    "minimal": 512,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "extra-high": 32_768,
}
LEVELS: Mapping[ThinkingLevel, str] = {
    "off": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "extra-high": "HIGH",
}

_NUMBERED = re.compile(r"gemini-(?P<major>\d{1,2})(?:[.-](?P<minor>\d))?(?!\d)")


def generation(model_id: str) -> Version:
    """Return the version of a model; (0, 0) if the name does not contain it."""
    match = _NUMBERED.search(model_id)
    if match:
        return int(match["major"]), int(match["minor"] or 0)
    return LATEST if re.search(r"gemini-.*latest", model_id) else (0, 0)


def thinking_config(spec: ModelSpec) -> JsonObject:
    """Return the thinking parameters; empty if the model does not think or is unknown."""
    version = generation(spec.model_id)
    if version < (2, 5):
        return {}
    config: JsonObject = {"thinkingBudget": _budget(spec)} if version < (3, 0) else {"thinkingLevel": _level(spec)}
    return config if spec.thinking == "off" else {**config, "includeThoughts": True}


def _budget(spec: ModelSpec) -> int:
    is_pro, is_lite = "pro" in spec.model_id, "lite" in spec.model_id
    least, most = (128, 32_768) if is_pro else (512 if is_lite else 1, 24_576)
    if spec.thinking == "off":
        # Pro cannot stop thinking; it gets its minimum.
        return least if is_pro else 0
    wanted = {**BUDGETS, **(spec.thinking_budgets or {})}[spec.thinking]
    return min(most, max(least, wanted))


def _level(spec: ModelSpec) -> str:
    """Return the nearest level that the model supports."""
    version, is_pro = generation(spec.model_id), "pro" in spec.model_id
    level = LEVELS[spec.thinking]
    if level == "MINIMAL" and (is_pro or version >= (4, 0) or (version >= (3, 7) and "lite" not in spec.model_id)):
        return "LOW"
    if level == "MEDIUM" and is_pro and version == (3, 0):
        return "HIGH"
    return level
