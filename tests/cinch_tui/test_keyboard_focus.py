from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.dialogs import Host, until_listening
from fakes.model_server import ModelServer
from fakes.script import Reply
from textual.app import App
from textual.events import AppBlur, AppFocus, MouseDown, Paste
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.widgets.prompt.prompt import Prompt
from cinch_tui.widgets.search_bar import SearchBar

SLOW = Reply("word " * 40, pause_s=0.01, calls=[("bash", {"command": "make it"})])


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CinchApp]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    with ModelServer([SLOW, Reply("done")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield chat(tmp_path)


async def look_away(pilot: Pilot[object], app: CinchApp) -> None:
    await ready(pilot, app)
    await pilot.press(*"fix", "enter")
    app.post_message(AppBlur())
    await until(pilot, lambda: app.focused is None)


def click_beside(app: App[object]) -> None:
    """Input of a terminal that became smaller before it reported its size."""
    app.post_message(MouseDown(None, 200, 60, 0, 0, 1, False, False, False, 200, 60))


async def test_keys_reach_the_prompt_after_an_approval_that_came_while_one_was_in_another_window(app: CinchApp):
    async with app.run_test() as pilot:
        await look_away(pilot, app)
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        app.post_message(AppFocus())
        await until_listening(pilot)
        await pilot.press("y")
        await until(pilot, lambda: app.screen is app.controller.view)

        await pilot.press(*"and", "space", *"then")

        assert app.controller.view.prompt.text == "and then"


async def test_keys_reach_a_question_after_a_list_that_was_closed_while_one_was_in_another_window():
    first = Picker("Which?", [Item("one", "", 1), Item("two", "", 2)])
    host = Host(first)
    async with host.run_test() as pilot:
        host.post_message(AppBlur())
        await until(pilot, lambda: host.focused is None)
        host.push_screen(Picker("Or?", [Item("three", "", 3)]))
        await pilot.pause()
        host.post_message(AppFocus())
        await pilot.press("escape")
        await until(pilot, lambda: host.screen is first)

        await pilot.press("t", "enter")

        assert host.results == [2]


async def test_escape_ends_a_search_that_one_clicked_away_from(app: CinchApp):
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("ctrl+f", "w")
        await pilot.click(Prompt)

        await pilot.press("escape")

        assert not app.screen.query_one(SearchBar).is_open


async def test_keys_reach_the_prompt_after_a_click_next_to_the_screen(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        click_beside(app)
        await until(pilot, lambda: app.focused is None)

        await pilot.press(*"and", "space", *"then")

        assert app.controller.view.prompt.text == "and then"


async def test_a_paste_reaches_the_prompt_after_a_click_next_to_the_screen(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        click_beside(app)
        await until(pilot, lambda: app.focused is None)

        app.post_message(Paste("one\ntwo"))
        await pilot.pause()

        assert app.controller.view.prompt.text == "one\ntwo"


async def test_keys_reach_a_list_after_a_click_next_to_the_screen():
    host = Host(Picker("Which?", [Item("one", "", 1), Item("two", "", 2)]))
    async with host.run_test(size=(80, 24)) as pilot:
        click_beside(host)
        await until(pilot, lambda: host.focused is None)

        await pilot.press("down", "enter", "enter")

        assert host.results == [2]
