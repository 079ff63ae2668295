from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until

from cinch_tui.screens.choice_dialogs import ShortList


@pytest.mark.parametrize("typed", ["/exitt", "/qiut", "/quit now"])
async def test_second_enter_after_a_mistyped_command_does_not_quit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*typed, "enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList) and not app.screen.waiting)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, ShortList))
        await until(pilot, lambda: app.controller.view.prompt.text == typed)

        assert app.is_running
        assert not app._exit


async def test_argument_is_kept_when_the_suggestion_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/aprove off", "enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList) and not app.screen.waiting)
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.agent.state.approval == "off")


async def test_letters_typed_after_a_mistyped_command_go_to_the_prompt_and_a_digit_chooses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/aprove off", "enter")
        await until(pilot, lambda: isinstance(app.screen, ShortList) and not app.screen.waiting)
        await pilot.press(*"fix")
        await until(pilot, lambda: app.controller.view.prompt.text == "fix" and not app.screen.waiting)
        assert isinstance(app.screen, ShortList)
        await pilot.press("1")
        await until(pilot, lambda: app.controller.agent.state.approval == "off")
