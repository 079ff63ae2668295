from __future__ import annotations

import base64
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.pictures import png
from fakes.prompt_app import PromptApp, type_text
from textual.events import Paste

from cinch_tui.user_input import UserInput
from cinch_tui.widgets.prompt.draft import Draft
from cinch_tui.widgets.prompt.prompt import Prompt
from harness.messages import Image, Text

SHOT = png(1280, 720)
IMAGE = Image("image/png", base64.b64encode(SHOT).decode())
MARK = "[image 1: shot.png 1280×720]"


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "shot.png"
    path.write_bytes(SHOT)
    return path


def said(app: PromptApp) -> list[UserInput]:
    return [message.user_input for message in app.received if isinstance(message, Prompt.Submitted)]


def complaints(app: PromptApp) -> list[str]:
    return [message.text for message in app.received if isinstance(message, Prompt.PasteRejected)]


async def test_dropped_picture_is_where_it_was_dropped_and_is_sent_there(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "what is wrong in  here?")
        await pilot.press(*["left"] * 6)
        app.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in app.input.text)
        shown = app.input.text
        await pilot.press("enter")

    [words] = said(app)
    assert shown == words.text == f"what is wrong in {MARK} here?"
    assert words.prompt == (Text(f"what is wrong in {MARK}"), IMAGE, Text(" here?"))


async def test_image_is_one_unit_that_backspace_removes_and_undo_brings_back(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "see ")
        app.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in app.input.text)
        await pilot.press("backspace")
        await pilot.press("backspace")
        without = app.input.text
        await pilot.press("ctrl+underscore")
        await pilot.press("enter")

    assert without == "see "
    assert said(app)[0].prompt == (Text(f"see {MARK}"), IMAGE)


async def test_cursor_goes_over_an_image_and_never_is_in_it(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in app.input.text)
        await pilot.press("left", "left")
        before = app.input.cursor_location
        await pilot.press("right")
        behind = app.input.cursor_location
        app.input.move_cursor((0, 5))
        await pilot.pause()

        assert (before, behind) == ((0, 0), (0, len(MARK)))
        assert app.input.cursor_location == (0, 0)


async def test_several_dropped_files_are_images_and_mentions_in_their_order(tmp_path: Path, shot: Path):
    (tmp_path / "my notes.md").write_text("notes")
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(f"'{tmp_path}/my notes.md' {shot} "))
        await until(pilot, lambda: "image" in app.input.text)

        assert app.input.text == f'@"my notes.md" {MARK} '


async def test_picture_that_is_pasted_as_base64_is_an_image(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(f"data:image/png;base64,{IMAGE.data}"))
        await until(pilot, lambda: "image" in app.input.text)
        await pilot.press("enter")

    assert said(app)[0].prompt == (Text("[image 1: pasted 1280×720]"), IMAGE)


async def test_path_in_a_command_of_the_user_stays_text(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "!file ")
        app.post_message(Paste(str(shot)))
        await pilot.pause()

        assert app.input.text == f"!file {shot}"


async def test_broken_picture_is_refused_with_a_reason_and_its_path_stays(tmp_path: Path):
    broken = tmp_path / "scan.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (9_000).to_bytes(4) * 2 + b"?")
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(str(broken)))
        await until(pilot, lambda: app.received)

        assert app.input.text == "@scan.png "
        assert "scan.png is too large (9000 × 9000 pixels" in complaints(app)[0]


async def test_history_brings_images_back_in_this_and_in_the_next_process(tmp_path: Path, shot: Path):
    for _ in range(2):
        app = PromptApp(tmp_path)
        async with app.run_test() as pilot:
            if not shot.exists():
                await pilot.press("up", "enter")
            else:
                app.post_message(Paste(str(shot)))
                await until(pilot, lambda app=app: "image" in app.input.text)
                await pilot.press("enter", "up", "enter")
            shot.unlink(missing_ok=True)

        assert {words.prompt for words in said(app)} == {(Text(MARK), IMAGE)}


async def test_a_missing_image_of_an_earlier_prompt_keeps_its_placeholder(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in app.input.text)
        await pilot.press("enter")
        for kept in (tmp_path / "state" / "pictures").iterdir():
            kept.unlink()
        await pilot.press("up", "enter")

    assert said(app)[1].prompt == f"{MARK} "


async def test_draft_keeps_its_images(tmp_path: Path, shot: Path):
    first = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with first.run_test() as pilot:
        first.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in first.input.text)
    shot.unlink()
    second = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with second.run_test() as pilot:
        await until(pilot, lambda: second.prompt.text)
        await pilot.press("enter")

    assert said(second)[0].prompt == (Text(MARK), IMAGE)


async def test_image_that_is_given_back_gets_another_mark_where_its_own_is_for_another(tmp_path: Path, shot: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste(str(shot)))
        await until(pilot, lambda: "image" in app.input.text)
        returned = app.prompt.take()
        (tmp_path / "shot.png").write_bytes(png(1280, 720, noise=True))
        other = PromptApp(tmp_path)
        async with other.run_test() as again:
            other.post_message(Paste(str(shot)))
            await until(again, lambda: "image" in other.input.text)
            other.prompt.restore(returned)
            words = other.prompt.user_input

    assert words.text == f"{MARK} \n[image 2: shot.png 1280×720] "
    assert [each.image == IMAGE for each in words.images] == [True, False]
