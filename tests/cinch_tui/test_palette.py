from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.widgets import OptionList


async def test_a_palette_left_while_a_choice_is_on_its_way_closes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-palette")
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+p", *"#help")
        palette = app.screen
        await until(pilot, lambda: palette.query(OptionList) and palette.query_one(OptionList).option_count == 1)

        found = palette.query_one(OptionList)
        palette.post_message(OptionList.OptionSelected(found, found.get_option_at_index(0), 0))
        palette.dismiss()
        await until(pilot, lambda: app.screen.query("HelpPanel"))

        assert len(app.screen_stack) == 1
