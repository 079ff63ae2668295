"""What can be told of a model by its name: how it is made to think, what of a request it caches, what it can see.

A name says nothing where it is the address of a profile of one's own; such a model gets the least that all know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject, JsonValue, ModelSpec
from harness.thinking_level import ThinkingLevel
from providers.anthropic.thinking import output_limit, thinking_form

CLAUDE = r"anthropic\.claude"
# These neither think nor cache, and write less.
OLD_CLAUDE = r"claude-(3-(5-)?(haiku|sonnet|opus)|v\d|instant)"
# These keep what they cached for an hour, if they are asked to.
LASTING_CLAUDE = r"claude-[a-z]+-(4-[5-9]|[5-9])(?!\d)"
NOVA = r"amazon\.nova"
THINKING_NOVA = r"amazon\.nova-[2-9]"
OPEN_WEIGHTS = r"openai\.gpt-oss"
EFFORTS: Mapping[ThinkingLevel, str] = {
    "off": "low",
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "extra-high": "high",
}


@dataclass(frozen=True, slots=True)
class Traits:
    """What a request to the model may hold.

    `fields` are the model's own, beside those that all models have. `output_limit` is what a reply may take if nobody
    says otherwise (None: the model knows), and `budget` the part of it for thinking. `results_show`: results of tools
    may say that they failed, and hold images.
    """

    fields: JsonObject = field(default_factory=dict[str, "JsonValue"])
    output_limit: int | None = None
    budget: int = 0
    takes_limit: bool = True
    takes_temperature: bool = True
    caches: bool = False
    caches_tools: bool = False
    caches_an_hour: bool = False
    results_show: bool = False


def traits_of(spec: ModelSpec, *, thinks: bool = True) -> Traits:
    """`thinks`: whether the model may be told how to think."""
    if re.search(CLAUDE, spec.model_id):
        return _claude(spec, thinks=thinks)
    if re.search(NOVA, spec.model_id):
        return _nova(spec, thinks=thinks)
    if re.search(OPEN_WEIGHTS, spec.model_id) and thinks:
        return Traits({"reasoning_effort": EFFORTS[spec.thinking]})
    return Traits()


def _claude(spec: ModelSpec, *, thinks: bool) -> Traits:
    if re.search(OLD_CLAUDE, spec.model_id):
        return Traits(results_show=True)
    limit, is_lasting = output_limit(spec.model_id), re.search(LASTING_CLAUDE, spec.model_id) is not None
    if not thinks:
        return Traits(output_limit=limit, caches=True, caches_tools=True, caches_an_hour=is_lasting, results_show=True)
    form = thinking_form(spec)
    fields: JsonObject = {}
    if form.thinking:
        fields["thinking"] = form.thinking
    if form.effort:
        fields["output_config"] = {"effort": form.effort}
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
    effort = EFFORTS[spec.thinking]
    fields: JsonObject = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    # The most effort leaves the rest to the model.
    is_free = effort != "high"
    return Traits(fields, takes_limit=is_free, takes_temperature=is_free, caches=True, results_show=True)
