from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until

from cinch_tui.widgets.status_bar import StatusLine


async def test_the_status_line_shows_that_thinking_is_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        line = app.screen.query_one(StatusLine)
        assert "thinking hidden" not in str(line.render())

        await pilot.press("f5")
        await until(pilot, lambda: "thinking hidden" in str(line.render()))
        assert not app.controller.view.widgets.shows_thinking

        await pilot.press("f5")
        await until(pilot, lambda: "thinking hidden" not in str(line.render()))
        await pilot.press(*"/thinking hide", "enter")
        await until(pilot, lambda: "thinking hidden" in str(line.render()))
