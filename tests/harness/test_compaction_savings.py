"""A summary is applied only if it makes the context shorter, and asked for only if it can."""

from __future__ import annotations

import pytest
from fakes.long_talk import reading

from harness.errors import SummaryFailed
from harness.events import CompactionEnd, CompactionStart

LONG_PROSE = "The parser stays recursive, because the grammar is small and the lexer is fast. " * 40


@pytest.mark.parametrize("tokens", [10, 12, 14])
async def test_model_is_not_asked_for_a_summary_that_cannot_save_anything(agent_with, record, requests, tokens: int):
    agent = agent_with(reading(9, tokens), summaries=[LONG_PROSE])
    seen = record(agent)

    assert await agent.compact() is None

    assert (requests(agent), seen.of(CompactionStart)) == ([], [])


@pytest.mark.parametrize("tokens", [*range(20, 90, 5)])
async def test_summary_that_saves_nothing_is_not_applied(agent_with, record, tokens: int):
    agent = agent_with(reading(8, tokens), summaries=[LONG_PROSE] * 3)
    seen = record(agent)
    before = agent.context_messages
    try:
        compaction = await agent.compact()
    except SummaryFailed:
        assert "saves nothing" in seen.of(CompactionEnd)[0].error or "no shorter" in seen.of(CompactionEnd)[0].error
        compaction = None

    saved = [event.tokens_before - event.tokens for event in seen.of(CompactionEnd) if not event.error]
    assert (compaction is None) == (agent.context_messages == before)
    assert all(each >= 100 for each in saved)
