"""Searches of the model's service in the transcript."""

from __future__ import annotations

from cinch_tui.transcript.replies import ThinkingBlock


def test_folded_search_shows_its_query_instead_of_a_duration() -> None:
    search, thought = ThinkingBlock("Web search: retry\x1b[31m policy"), ThinkingBlock("Web pages help.")
    for block in (search, thought):
        block.finish()

    assert search.headline == "▸ Web search: retry␛[31m policy"
    assert thought.headline == "▸ Thought"

    search.folded = False

    assert search.headline == "▾ Web search"
