"""Thinking parameters of the Claude models, which changed between versions.

Up to 4.5 they take a token budget; from 4.6 on they adapt to an effort level. From 5 on they think unless disabled, and
the largest cannot be disabled. An unknown model belongs to a compatible server, which supports the first form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from harness.messages import JsonObject, ModelSpec
from harness.thinking_level import ThinkingLevel
from providers.wire.encoding import effort_name

LEAST_BUDGET = 1024
BUDGETS: Mapping[ThinkingLevel, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 5000,
    "high": 10_000,
    "extra-high": 20_000,
}
# Without `display` no thinking text is sent, nor the notes between tool calls.
ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}
# Error of a thinking model that continues a turn whose tool calls another model made.
MISSING_THINKING = r"expected .{0,3}thinking"

_MODEL = re.compile(r"claude-(?:(?P<family>[a-z]+)-)?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")


class ThinkingForm(Struct, frozen=True):
    """Thinking parameters of a request."""

    thinking: JsonObject | None = None
    effort: str | None = None
    budget: int = 0
    """Thinking tokens; counted as part of `max_tokens`."""

    takes_temperature: bool = True


def thinking_form(spec: ModelSpec) -> ThinkingForm:
    family, version = _family_and_version(spec.model_id)
    if version < (4, 6):
        return _with_budget(spec)
    samples = version < (4, 7)
    if spec.thinking == "off":
        return ThinkingForm(_least(family, version), takes_temperature=samples)
    effort = "low" if spec.thinking == "minimal" else effort_name(spec.thinking)
    return ThinkingForm(ADAPTIVE, "high" if effort == "xhigh" and samples else effort, takes_temperature=False)


def output_limit(model_id: str) -> int:
    """Return the default `max_tokens`: enough for a long file, and below the limit of every model.

    Adaptive models count their thinking in.
    """
    return 32_000 if _family_and_version(model_id)[1] >= (4, 6) else 16_384


def _family_and_version(model_id: str) -> tuple[str, tuple[int, int]]:
    match = _MODEL.search(model_id)
    return (match["family"] or "", (int(match["major"]), int(match["minor"] or 0))) if match else ("", (0, 0))


def _least(family: str, version: tuple[int, int]) -> JsonObject | None:
    """Return the parameters for the least thinking that a model supports."""
    if version < (5, 0):
        return None
    if version < (5, 5):
        return ADAPTIVE if family in ("fable", "mythos") else {"type": "disabled"}
    match family:
        case "sonnet":
            return {"type": "between_tools"}
        case "haiku":
            return {"type": "disabled"}
        case _:
            return ADAPTIVE


def _with_budget(spec: ModelSpec) -> ThinkingForm:
    if spec.thinking == "off":
        return ThinkingForm()
    budget = max(LEAST_BUDGET, {**BUDGETS, **(spec.thinking_budgets or {})}[spec.thinking])
    return ThinkingForm({"type": "enabled", "budget_tokens": budget}, budget=budget, takes_temperature=False)
