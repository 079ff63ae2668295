from __future__ import annotations

import pytest

from cinch_tui.reports.summaries import thinking_in_effect
from harness.agent.agent import Agent
from providers import connect


@pytest.mark.parametrize(("name", "shown"), [("openai-chat/qwen3", "off"), ("anthropic/claude-sonnet-5-5", "high")])
def test_a_level_without_effect_is_not_reported_as_set(name: str, shown: str) -> None:
    agent = Agent(connect(name, base_url="http://127.0.0.1:1/v1", thinking="high"))

    assert thinking_in_effect(agent) == shown
