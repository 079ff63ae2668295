from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.widgets import OptionList

from cinch_tui.asking.answers import ScreenPerson, show_on
from cinch_tui.screens.question import QuestionScreen
from harness.person import Choice, Question


async def test_a_palette_that_is_left_beneath_a_question_leaves_it_standing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-palette")
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+p")
        palette = app.screen
        question = asyncio.create_task(ScreenPerson(show_on(app)).ask(Question("Which?", (Choice("a"), Choice("b")))))
        await until(pilot, lambda: isinstance(app.screen, QuestionScreen))

        palette.dismiss()
        async with asyncio.timeout(10):
            while not question.done():
                await pilot.press("enter")
                await pilot.pause(1)

    assert (await question).text == "a"


async def test_a_palette_left_while_a_choice_is_on_its_way_closes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-palette")
    app = chat(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+p", *"#help")
        palette = app.screen
        await until(pilot, lambda: palette.query(OptionList) and palette.query_one(OptionList).option_count == 1)

        found = palette.query_one(OptionList)
        palette.post_message(OptionList.OptionSelected(found, found.get_option_at_index(0), 0))
        palette.dismiss()
        await until(pilot, lambda: app.screen.query("HelpPanel"))

        assert len(app.screen_stack) == 1
