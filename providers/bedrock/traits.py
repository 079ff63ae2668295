"""Features of a model, by its name: thinking parameters, caching, images in tool results.

The ARN of an inference profile contains no model name; such a model gets the features that all models have.
"""

from __future__ import annotations

import re

from msgspec import Struct

from harness.messages import JsonObject, ModelSpec
from providers.anthropic.thinking import ThinkingForm, output_limit, thinking_form
from providers.wire.encoding import basic_effort, filled

CLAUDE = r"anthropic\.claude"
# These neither think nor cache, and have lower output limits.
OLD_CLAUDE = r"claude-(3-(5-)?(haiku|sonnet|opus)|v\d|instant)"
# These support a cache lifetime of one hour.
LASTING_CLAUDE = r"claude-[a-z]+-(4-[5-9]|[5-9])(?!\d)"
NOVA = r"amazon\.nova"
THINKING_NOVA = r"amazon\.nova-[2-9]"
OPEN_WEIGHTS = r"openai\.gpt-oss"


class Traits(Struct, frozen=True):
    """Features that a request to the model may use."""

    fields: JsonObject = {}
    """Model-specific request fields."""

    output_limit: int | None = None
    """Default `maxTokens`; None leaves it to the service."""

    budget: int = 0
    """Thinking tokens, counted as part of the limit."""

    takes_limit: bool = True
    takes_temperature: bool = True
    caches: bool = False
    caches_tools: bool = False
    caches_an_hour: bool = False
    results_show: bool = False
    """True if tool results may have an error status and images."""


def traits_of(spec: ModelSpec, *, thinks: bool = True) -> Traits:
    """Return the features of a model; `thinks` is False if it rejected thinking parameters."""
    if re.search(CLAUDE, spec.model_id):
        return _claude(spec, thinks=thinks)
    if re.search(NOVA, spec.model_id):
        return _nova(spec, thinks=thinks)
    if re.search(OPEN_WEIGHTS, spec.model_id) and thinks:
        return Traits({"reasoning_effort": basic_effort(spec.thinking)})
    return Traits()


def _claude(spec: ModelSpec, *, thinks: bool) -> Traits:
    if re.search(OLD_CLAUDE, spec.model_id):
        return Traits(results_show=True)
    limit, is_lasting = output_limit(spec.model_id), re.search(LASTING_CLAUDE, spec.model_id) is not None
    form = thinking_form(spec) if thinks else ThinkingForm()
    fields = filled({"thinking": form.thinking, "output_config": filled({"effort": form.effort})})
    return Traits(
        fields,
        limit,
        form.budget,
        takes_temperature=form.takes_temperature,
        caches=True,
        caches_tools=True,
        caches_an_hour=is_lasting,
        results_show=True,
    )


def _nova(spec: ModelSpec, *, thinks: bool) -> Traits:
    if not thinks or spec.thinking == "off" or not re.search(THINKING_NOVA, spec.model_id):
        return Traits(caches=True, results_show=True)
    effort = basic_effort(spec.thinking)
    fields: JsonObject = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    # The highest effort allows neither a limit nor a temperature.
    is_free = effort != "high"
    return Traits(fields, takes_limit=is_free, takes_temperature=is_free, caches=True, results_show=True)
