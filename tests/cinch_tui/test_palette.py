from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.keybindings.table import KEYS
from cinch_tui.screens.palette import KEYS_OF_COMMANDS, WITHOUT_COMMAND, Palette
from cinch_tui.widgets.item_list import ItemList


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-palette")
    return chat(tmp_path)


async def search_palette(pilot: Pilot[object], app: CinchApp, query: str) -> list[str]:
    await ready(pilot, app)
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(app.screen, Palette) and app.screen.focused is not None)
    await pilot.press(*query)
    await pilot.pause()
    items = app.screen.query_one(ItemList)
    return [items.render_line(y).text for y in range(items.size.height)]


async def test_palette_runs_the_chosen_command(app: CinchApp):
    async with app.run_test(size=(120, 30)) as pilot:
        await search_palette(pilot, app, "#help")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query("HelpPanel"))

        assert len(app.screen_stack) == 1


async def test_palette_starts_a_command_that_needs_an_argument_in_the_prompt(app: CinchApp):
    async with app.run_test(size=(100, 30)) as pilot:
        await search_palette(pilot, app, "/btw")
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.view.prompt.text == "/btw ")


async def test_palette_runs_actions_that_only_have_a_key(app: CinchApp):
    async with app.run_test(size=(100, 30)) as pilot:
        await search_palette(pilot, app, "find in the conv")
        await pilot.press("enter")
        await until(pilot, lambda: any(bar.has_class("-open") for bar in app.screen.query("SearchBar")))


async def test_palette_shows_the_key_of_a_command(app: CinchApp):
    async with app.run_test(size=(100, 30)) as pilot:
        rows = await search_palette(pilot, app, "/plan")

        assert rows[0].startswith("/plan")
        assert "Shift+Tab · plan mode on or off" in rows[0]


def test_palette_names_commands_and_keys_that_exist():
    commands, ids = builtin_commands(), {key.id for key in KEYS}

    assert all(commands.find(name) for name in KEYS_OF_COMMANDS)
    assert {*KEYS_OF_COMMANDS.values(), *WITHOUT_COMMAND} <= ids
