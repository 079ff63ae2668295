"""Features of the models of OpenAI and xAI, by name; used for both of OpenAI's APIs.

A reasoning model always reasons a little and has no temperature; its effort levels changed with the versions.
"""

from __future__ import annotations

import re

from harness.thinking_level import ThinkingLevel
from providers.wire.encoding import effort_name

_GPT = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?(?!.*chat)")
_O_SERIES = re.compile(r"\bo[134](-|$)")
# Grok from 4.7 on also supports the highest effort; these GPTs, unlike others, support none below low.
_ALWAYS_REASONS = re.compile(r"\b(gpt-6-astra|gpt-6\.1-sol|grok-(4\.[7-9](?!\d)|[5-9]))")
# Version 4.20 preceded 4.3.
_GROK = re.compile(r"\bgrok-(4\.[3-9](?!\d)|[5-9]|latest)")


def reasons(model_id: str) -> bool:
    """Return True if the model reasons before it answers."""
    is_o_or_grok = _O_SERIES.search(model_id) or _GROK.search(model_id)
    return gpt_version(model_id) >= (5, 0) or is_o_or_grok is not None


def effort_for(model_id: str, level: ThinkingLevel) -> str | None:
    """Return the effort for a level; None for a model that does not reason."""
    known = efforts_of(model_id)
    wanted = "none" if level == "off" else effort_name(level)
    if wanted in known:
        return wanted
    if level == "extra-high":
        return known[-1] if known else None
    return next((effort for effort in known if effort != "none"), None)


def efforts_of(model_id: str) -> tuple[str, ...]:
    """Return the efforts that the model supports, in ascending order; empty if it does not reason."""
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
    """Return major and minor version of a GPT; (0, 0) for other models and chat variants."""
    match = _GPT.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
