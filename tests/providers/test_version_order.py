from __future__ import annotations

from random import Random

import pytest

from providers.model_catalog.offers import newest_first


@pytest.mark.parametrize(
    "names",
    [
        [
            "claude-opus-5-5",
            "claude-opus-5",
            "claude-haiku-4-5-20251001",
            "claude-sonnet-4-20250514",
            "claude-3-7-sonnet",
        ],
        ["gemini-flash-latest", "gemini-3.8-flash", "gemini-2.5-pro", "gemini-2.0-flash", "gemini-pro"],
        ["gpt-5.10", "gpt-5.6-terra", "gpt-5", "gpt-4.1-mini", "gpt-4-32k", "gpt-4o", "gpt-3.5-turbo"],
        ["qwen3:8b", "qwen2.5-coder:32b", "qwen:72b"],
        ["anthropic/claude-opus-5", "anthropic/claude-3-haiku", "z-ai/glm-5.3", "z-ai/glm-4.7"],
        ["llama-4-scout-17b-16e", "llama-3.3-70b", "llama-70b"],
    ],
)
def test_of_a_family_the_highest_version_comes_first(names: list[str]) -> None:
    shuffled = Random(4).sample(names, len(names))

    assert sorted(shuffled, key=newest_first) == names
