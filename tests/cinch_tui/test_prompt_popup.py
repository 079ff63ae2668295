from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes.prompt_app import PromptApp, type_text
from textual.events import Key


async def test_popup_offers_commands_with_their_help(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "/th")
        assert app.popup.is_open

        await pilot.press("tab")
        assert app.prompt.text == "/thinking "
        await pilot.press("down", "down", "enter")
        assert app.prompt.text == "/thinking low"
        await pilot.press("enter")

        assert app.sent == ["/thinking low"]


async def test_enter_on_a_complete_command_submits_it(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for command in ("/plan", "/model", "/q", "#keys", "/thinking "):
            await type_text(pilot, command)
            assert app.popup.is_open
            await pilot.press("enter")

        assert app.sent == ["/plan", "/model", "/q", "#keys", "/thinking "]


async def test_enter_on_a_half_written_command_completes_it(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "/us")
        await pilot.press("enter")
        assert (app.prompt.text, app.sent) == ("/usage", [])

        await pilot.press("enter")

        assert app.sent == ["/usage"]


async def test_enter_sends_what_only_resembles_a_name(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "#aprove")
        assert app.popup.is_open
        await pilot.press("enter")

        assert app.sent == ["#aprove"]


async def test_chosen_row_stays_chosen_when_keys_arrive_together(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for key in (*"/thinking ", "down", "down"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.press("enter")

        assert app.prompt.text == "/thinking low"


async def test_escape_closes_the_popup_and_it_stays_closed_for_that_word(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "/p")
        await pilot.press("escape")
        assert not app.popup.is_open
        await type_text(pilot, "l")
        assert not app.popup.is_open

        await pilot.press("escape")

        assert app.left == ["escape"]
        assert app.prompt.text == "/pl"


async def test_several_lines_offer_no_commands(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "text\n/pl")

        assert not app.popup.is_open


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "src").mkdir()
    for name in ("src/parser.py", "src/printer.py", "ignored.log"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.log\n")
    return tmp_path


async def test_files_are_offered_after_an_at_sign(repository: Path):
    app = PromptApp(repository)
    async with app.run_test() as pilot:
        await type_text(pilot, "look at @pars")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert app.popup.is_open
        await pilot.press("tab")
        assert app.prompt.text == "look at @src/parser.py "
        await type_text(pilot, "@ignored")

        assert not app.popup.is_open


async def test_popup_is_up_to_date_when_keys_arrive_together(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for key in ("/", "u", "s", "tab", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await pilot.pause()

        assert app.sent == ["/usage"]
