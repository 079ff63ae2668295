from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Reply

from cinch_tui.app import preload
from harness.session.search import SearchQuery, search_sessions


async def test_sessions_are_indexed_when_the_agent_has_been_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preload, "IDLE_S", 0.01)
    with ModelServer([Reply("The answer is forty-two.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        app = chat(tmp_path)
        async with app.run_test(size=(100, 30)) as pilot:
            await ready(pilot, app)
            data = app.controller.options.paths.data
            assert not (data / "sessions.db").exists()

            app.controller.view.send("what is it?")
            await until(pilot, lambda: [hit.number for hit in search_sessions(data, SearchQuery("forty"))] == [2])
