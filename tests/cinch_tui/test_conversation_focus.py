from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.transcript.blocks import ReplyBlock, UserBlock


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    return chat(tmp_path)


async def in_the_conversation(pilot: Pilot[object], app: CinchApp) -> None:
    await ready(pilot, app)
    app.controller.view.widgets.transcript.extend((UserBlock("Do it"), ReplyBlock("Done: `make`.")))
    await app.controller.view.widgets.transcript.drained()
    await pilot.press("tab")


async def test_text_typed_after_a_stray_tab_arrives_whole_in_the_prompt(app: CinchApp):
    async with app.run_test() as pilot:
        await in_the_conversation(pilot, app)
        await pilot.press(*"commit it, ", "y", "e", "s")

        assert app.controller.view.prompt.text == "commit it, yes"
        assert app.controller.view.prompt.has_focus_within
        assert app.clipboard == ""


async def test_prompt_frame_shows_the_keys_that_act_on_the_selected_block(app: CinchApp):
    async with app.run_test() as pilot:
        await in_the_conversation(pilot, app)
        frame = app.controller.view.prompt.field
        await until(pilot, lambda: "selects a block" in str(frame.border_subtitle))
        await pilot.press("shift+up")
        await until(pilot, lambda: "y copy" in str(frame.border_subtitle))
        await pilot.press("escape")
        await until(pilot, lambda: not frame.border_subtitle)

        assert app.controller.view.prompt.has_focus_within
