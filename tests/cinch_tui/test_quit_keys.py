from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.events import Key

from cinch_tui.screens.chat import REPEATED_WITHIN


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")


async def test_ctrl_d_held_down_erases_the_text_and_does_not_quit(tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        app.controller.view.prompt.text = "abc"
        await pilot.press("home")
        for _ in range(30):
            app.post_message(Key("ctrl+d", None))
        await pilot.pause()

        assert app.controller.view.prompt.text == ""
        assert app.is_running


async def test_ctrl_d_twice_in_an_empty_prompt_quits(tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+d")
        assert app.controller.view.widgets.status.status.note == "Ctrl+D again quits"
        pressed_at = time.monotonic()
        await until(pilot, lambda: time.monotonic() - pressed_at > REPEATED_WITHIN)
        await pilot.press("ctrl+d")

        assert app._exit
