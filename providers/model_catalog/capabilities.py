"""Capabilities known from a model's name: only for families whose vendors document them for all models.

OpenAI's and Anthropic's lists do not contain tool support, and the price data contains no capabilities.
"""

from __future__ import annotations

import re

from providers.catalog import Preset
from providers.gemini.models import generation
from providers.model_catalog.metadata import ModelMetadata
from providers.openai_chat.models import reasons

IMAGES_AND_TOOLS = re.compile(
    r"claude-([a-z]+-)?[3-9]|"
    r"\bgpt-(4o|4\.1|4-turbo|[5-9])(?!.*(chat|search))|\bo(1|3|4-mini)(?!-(mini|preview))\b|"
    r"\bgemini-(1\.5|[2-9])"
)
THINKS = re.compile(r"claude-(3[.-]7|([a-z]+-)?[4-9])")


def capabilities_by_name(preset: Preset, model_id: str) -> ModelMetadata:
    capable = True if IMAGES_AND_TOOLS.search(model_id) else None
    thinks = (
        THINKS.search(model_id)
        or reasons(model_id)
        or generation(model_id) >= (2, 5)
        or any(rule.applies_to(model_id) for rule in preset.thinking)
    )
    tools = False if "tools" in preset.without else capable
    images = False if preset.is_text_only(model_id) else capable
    return ModelMetadata(images=images, tools=tools, thinking=True if thinks else None)
