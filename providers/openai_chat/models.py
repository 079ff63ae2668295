"""What the models of OpenAI and xAI take, by their names; both of OpenAI's wires ask.

A model that reasons always does so a little, and has no temperature; how hard it is told to try is named by effort, and
which efforts there are changed with the versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from harness.thinking import ThinkingLevel

EFFORTS: Mapping[ThinkingLevel, str] = {
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "extra-high": "xhigh",
}
_GPT = re.compile(r"\bgpt-(\d+)(?:\.(\d+))?(?!.*chat)")
_O_SERIES = re.compile(r"\bo[134](-|$)")
# What was called 4.20 came before 4.3.
_GROK = re.compile(r"\bgrok-(4\.[3-9](?!\d)|[5-9]|latest)")


def reasons(model_id: str) -> bool:
    """Whether the model is of a kind that thinks before it answers."""
    is_o_or_grok = _O_SERIES.search(model_id) or _GROK.search(model_id)
    return gpt_version(model_id) >= (5, 0) or is_o_or_grok is not None


def effort_for(model_id: str, level: ThinkingLevel) -> str | None:
    """The effort for a level; None for a model that does not reason."""
    version = gpt_version(model_id)
    if version >= (5, 1) and level == "off":
        return "none"
    if version >= (5, 0):
        return "minimal" if level == "off" else EFFORTS[level]
    if not reasons(model_id):
        return None
    if level == "off" and "grok-4.3" in model_id:
        return "none"
    return {"off": "low", "minimal": "low", "extra-high": "high"}.get(level, level)


def gpt_version(model_id: str) -> tuple[int, int]:
    """Major and minor of a GPT; (0, 0) for any other model, and for the ones made for chat."""
    match = _GPT.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
