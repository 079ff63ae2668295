"""What OpenAI's models take, by their names; both of its wires ask.

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


def reasons(model_id: str) -> bool:
    """Whether the model is of a kind that thinks before it answers."""
    return gpt_version(model_id) >= (5, 0) or _O_SERIES.search(model_id) is not None


def effort_for(model_id: str, level: ThinkingLevel) -> str | None:
    """The effort for a level; None for a model that does not reason."""
    version = gpt_version(model_id)
    if version >= (5, 1) and level == "off":
        return "none"
    if version >= (5, 0):
        return "minimal" if level == "off" else EFFORTS[level]
    if not _O_SERIES.search(model_id):
        return None
    return {"off": "low", "minimal": "low", "extra-high": "high"}.get(level, level)


def gpt_version(model_id: str) -> tuple[int, int]:
    """Major and minor of a GPT; (0, 0) for any other model, and for the ones made for chat."""
    match = _GPT.search(model_id)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)
