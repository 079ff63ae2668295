"""A run that ends with a full context continues in a new session with a brief, if the settings say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Failure, Reply

from cinch_tui.transcript.blocks import transcript_text
from harness.messages import Usage

BRIEF = "Finish the parser\n\n## Goal\nMake the tests of the parser pass."
FULL = Usage(input=120_000, output=20)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    monkeypatch.setenv("CINCH_CONTEXT_HANDOFF_AT", "0.5")
    monkeypatch.setenv("CINCH_SESSIONS_TITLES", "false")


@pytest.mark.usefixtures("settings")
async def test_full_context_continues_in_a_new_session_with_a_brief(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with ModelServer([Reply("Half of it works.", usage=FULL), Reply(BRIEF), Reply("Done.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            agent = app.controller.agent
            old, transcript = agent.session_id, app.controller.view.widgets.transcript
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: f"/resume {old[:8]} returns to it" in transcript_text(transcript.blocks))
            assert agent.session_id != old
            assert [each.text.startswith(BRIEF) for each in agent.messages] == [True]

            await pilot.press(*"and now", "enter")
            await until(pilot, lambda: len(server.requests) == 3 and not app.controller.is_running)

        first = server.requests[2].body["messages"]
        assert "Finish the parser" in str(first)
        assert "Half of it works." not in str(first)


@pytest.mark.usefixtures("settings")
async def test_failed_brief_is_reported_once_and_the_session_continues(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    script = [Reply("One.", usage=FULL), Failure(400, "no brief"), Reply("Two.", usage=FULL)]
    with ModelServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            old, transcript = app.controller.agent.session_id, app.controller.view.widgets.transcript
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: "No new session was started" in transcript_text(transcript.blocks))
            await until(pilot, lambda: not app.controller.view.prompt.run_is_on)
            await pilot.press(*"on", "enter")
            await until(pilot, lambda: len(server.requests) == 3 and not app.controller.view.prompt.run_is_on)

            assert app.controller.agent.session_id == old
            assert len(server.requests) == 3
