from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.pictures import png
from fakes.prompt_app import PromptApp, type_text
from textual.events import Paste


@pytest.fixture
def app(tmp_path: Path) -> PromptApp:
    app = PromptApp(tmp_path)
    app.prompt.field.uses_vim = True
    return app


async def test_mode_is_shown_and_escape_reaches_others_only_from_normal_mode(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "one two")
        first = app.input.border_subtitle
        await pilot.press("escape", "b", "d")
        assert (first, app.input.border_subtitle, app.left) == ("INSERT", "NORMAL d", [])

        await pilot.press("escape")
        assert (app.input.border_subtitle, app.left) == ("NORMAL", [])
        await pilot.press("escape")
        assert app.left == ["escape"]


async def test_text_is_changed_undone_and_sent_from_normal_mode(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "one two three")
        await pilot.press("escape", *"bcw")
        await type_text(pilot, "four")
        await pilot.press("escape", *"0dw.u")
        await pilot.press("enter")
        await type_text(pilot, "next")

        assert app.sent == ["two four"]
        assert app.input.text == "next"


async def test_marked_text_is_selected_and_changed(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "one two three")
        await pilot.press("escape", *"0wviw")
        assert (app.input.selected_text, app.input.border_subtitle) == ("two", "VISUAL")

        await pilot.press("d")
        assert (app.input.text, app.input.border_subtitle) == ("one  three", "NORMAL")


async def test_escape_closes_the_completion_before_it_ends_writing(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "/the")
        assert app.popup.is_open
        await pilot.press("escape")

        assert (app.popup.is_open, app.input.border_subtitle) == (False, "INSERT")


async def test_j_and_k_beyond_the_text_walk_through_earlier_prompts(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "earlier")
        await pilot.press("enter")
        await type_text(pilot, "draft")
        await pilot.press("escape", "k")
        await pilot.pause()
        earlier = app.input.text
        await pilot.press("j")
        await pilot.pause()

        assert (earlier, app.input.text, app.input.border_subtitle) == ("earlier", "draft", "NORMAL")


async def test_image_is_one_letter(app: PromptApp, tmp_path: Path):
    (tmp_path / "a.png").write_bytes(png())
    async with app.run_test() as pilot:
        await type_text(pilot, "x ")
        app.post_message(Paste(str(tmp_path / "a.png")))
        await until(pilot, lambda: "image" in app.input.text)
        await type_text(pilot, "y")
        await pilot.press("escape", *"0lll")
        behind = app.input.cursor_location
        await pilot.press("h", "x")
        await pilot.pause()

        assert behind == (0, len("x [image 1: a.png 4×3]"))
        assert app.input.text == "x  y"


async def test_escape_and_a_letter_in_quick_succession_are_not_a_chord(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "one two")
        await pilot.press("alt+b", "alt+x")
        assert (app.input.text, app.input.border_subtitle, app.left) == ("one wo", "NORMAL", [])

        await pilot.press("alt+enter")
        assert app.input.text == ""


async def test_keys_of_a_shell_are_back_when_it_is_turned_off(app: PromptApp):
    async with app.run_test() as pilot:
        await type_text(pilot, "one")
        await pilot.press("escape")
        app.prompt.field.uses_vim = False
        await type_text(pilot, "x")

        assert (app.input.text, app.input.border_subtitle) == ("onxe", "")


async def test_the_command_turns_it_on_from_now_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    first = chat(tmp_path)
    async with first.run_test() as pilot:
        await ready(pilot, first)
        first.controller.view.process_input("/vim")
        await until(pilot, lambda: first.controller.view.prompt.field.uses_vim)
        await until(pilot, first.controller.options.sources.user_file.exists)

    second = chat(tmp_path)
    async with second.run_test() as pilot:
        await ready(pilot, second)

        assert second.controller.view.prompt.field.uses_vim


@pytest.mark.parametrize(
    ("text", "keys", "left"),
    [
        ("a👨‍👩‍👧b", "0lx", "ab"),
        ("a👨‍👩‍👧b", "0lxp", "ab👨‍👩‍👧"),
        ("ae\u0301b", "0lx", "ab"),
        ("ae\u0301b", "0llx", "ae\u0301"),
        ("ae\u0301b", "$hx", "ab"),
        ("e\u0301e\u0301b", "02x", "b"),
        ("xe\u0301y", "03~", "Xe\u0301Y"),
    ],
)
async def test_every_key_treats_a_grapheme_as_one_character(app: PromptApp, text: str, keys: str, left: str):
    async with app.run_test() as pilot:
        app.prompt.insert(text)
        await pilot.press("escape", *keys)

        assert app.input.text == left


@pytest.mark.parametrize("keys", ["0~", "0vU", "0v~", "0xp", "0vyp", "0xu"])
async def test_no_key_breaks_the_mark_of_a_paste(app: PromptApp, keys: str):
    pasted = "line\n" * 20

    async with app.run_test() as pilot:
        app.prompt.insert(pasted)
        await pilot.press("escape", *keys)

        assert app.prompt.text.startswith(pasted)
