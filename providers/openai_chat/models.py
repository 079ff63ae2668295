"""What the models of OpenAI and xAI take, by their names; both of OpenAI's wires ask.

A model that reasons always does so a little, and has no temperature; how hard it is told to try is named by effort, and
which efforts there are changed with the versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.thinking_level import ThinkingLevel

EFFORTS: Mapping[ThinkingLevel, str] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "extra-high": "xhigh",
}
_GPT = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?(?!.*chat)")
_O_SERIES = re.compile(r"\bo[134](-|$)")
# Grok from 4.7 on also takes the highest effort; these GPTs, unlike their kin, take none below low.
_ALWAYS_REASONS = re.compile(r"\b(gpt-6-astra|gpt-6\.1-sol|grok-(4\.[7-9](?!\d)|[5-9]))")
# What was called 4.20 came before 4.3.
_GROK = re.compile(r"\bgrok-(4\.[3-9](?!\d)|[5-9]|latest)")


def reasons(model_id: str) -> bool:
    """Whether the model is of a kind that thinks before it answers."""
    is_o_or_grok = _O_SERIES.search(model_id) or _GROK.search(model_id)
    return gpt_version(model_id) >= (5, 0) or is_o_or_grok is not None


def effort_for(model_id: str, level: ThinkingLevel) -> str | None:
    """The effort for a level; None for a model that does not reason."""
    known = efforts_of(model_id)
    wanted = "none" if level == "off" else EFFORTS[level]
    if wanted in known:
        return wanted
    if level == "extra-high":
        return known[-1] if known else None
    return next((effort for effort in known if effort != "none"), None)


def efforts_of(model_id: str) -> tuple[str, ...]:
    """The efforts that the model takes, from little to much; none if it does not reason."""
    version = gpt_version(model_id)
    if version > (0, 0) and "-pro" in model_id:
        return ("medium", "high", "xhigh") if version >= (5, 2) else ("high",)
    if _ALWAYS_REASONS.search(model_id):
        return ("low", "medium", "high", "xhigh")
    if version >= (5, 2):
        return ("none", "low", "medium", "high", "xhigh")
    if version >= (5, 1) or "grok-4.3" in model_id:
        return ("none", "low", "medium", "high")
    if version >= (5, 0):
        return ("minimal", "low", "medium", "high")
    return ("low", "medium", "high") if reasons(model_id) else ()


def gpt_version(model_id: str) -> tuple[int, int]:
    """Major and minor of a GPT; (0, 0) for any other model, and for the ones made for chat."""
    match = _GPT.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
