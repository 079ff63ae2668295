from __future__ import annotations

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.prompt_app import PromptApp, type_text
from textual.events import Paste

from cinch_tui.user_input import UserInput
from cinch_tui.widgets.prompt.draft import Draft

MARK_IN = re.compile(r"\[image \d+: [^\]]*\]")


def left_by(folder: Path, text: str) -> None:
    draft = Draft(folder)
    draft.open()
    draft.write(UserInput(text))
    draft.close()


KILLED = """
import os, sys
from itertools import count
from pathlib import Path
from cinch_tui.widgets.prompt.draft import Draft
from cinch_tui.user_input import Attachment, UserInput
from harness.messages import Image

def said(name):
    mark = f"[image {ord(name)}: {name}.png]"
    return UserInput(f"look at {mark}", (Attachment(mark, Image("image/png", f"{name}AAA")),))

draft = Draft(Path(sys.argv[1]))
draft.open()
draft.write(said("A"))
calls = count()
def die(event, arguments):
    if event in ("os.rename", "os.remove") and next(calls) == int(sys.argv[2]):
        os._exit(9)

sys.addaudithook(die)
draft.write(said("B") if sys.argv[3] == "another" else UserInput("look elsewhere"))
"""


def found_in(folder: Path) -> str:
    draft = Draft(folder)
    try:
        return draft.open().text
    finally:
        draft.close()


async def test_unsent_text_is_back_at_the_next_start_and_reported(tmp_path: Path):
    first = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with first.run_test() as pilot:
        await type_text(pilot, "half a\nthought ")
        first.post_message(Paste("x" * 900))
        await pilot.pause()
    second = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with second.run_test() as pilot:
        await until(pilot, lambda: second.prompt.text)

        assert second.prompt.text == f"half a\nthought {'x' * 900}"
        assert second.input.border_subtitle == "unsent draft restored"
        assert second.sent == []
        await type_text(pilot, "!")
        assert second.input.border_subtitle == ""


async def test_a_draft_that_is_sent_as_it_is_takes_its_hint_along(tmp_path: Path):
    left_by(tmp_path / "drafts", "before")
    app = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.input.border_subtitle)
        await pilot.press("enter")

        assert app.sent == ["before"]
        assert app.input.border_subtitle == ""


async def test_early_keys_are_appended_to_the_draft(tmp_path: Path):
    left_by(tmp_path / "drafts", "before")
    app = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    app.call_later(app.prompt.insert, "since")
    async with app.run_test() as pilot:
        await until(pilot, lambda: "before" in app.prompt.text)

        assert app.prompt.text == "before\nsince"


async def test_draft_is_on_disk_while_it_is_typed_and_gone_when_it_was_sent(tmp_path: Path):
    file = tmp_path / "drafts" / "1.txt"
    app = PromptApp(tmp_path, draft=Draft(file.parent))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.prompt._keeper and app.prompt._keeper._is_open)
        await type_text(pilot, "dear model")
        await until(pilot, file.exists)
        kept, mode = file.read_text(), stat.S_IMODE(file.stat().st_mode)
        await pilot.press("enter")
        await until(pilot, lambda: not file.exists())

        assert (kept, mode) == ("dear model", 0o600)


async def test_draft_is_what_was_typed_and_not_what_is_searched(tmp_path: Path):
    app = PromptApp(tmp_path, draft=Draft(tmp_path / "drafts"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.prompt._keeper and app.prompt._keeper._is_open)
        await type_text(pilot, "two\nlines")
        await pilot.press("ctrl+r")
        await type_text(pilot, "query")

    assert found_in(tmp_path / "drafts") == "two\nlines"


def test_two_at_a_time_have_a_draft_each_and_the_next_finds_both(tmp_path: Path):
    one, two = Draft(tmp_path), Draft(tmp_path)
    assert (one.open(), two.open()) == (UserInput(""), UserInput(""))
    one.write(UserInput("of one"))
    two.write(UserInput("of two"))
    third = Draft(tmp_path)
    assert third.open() == UserInput("")

    one.close()
    two.close()
    one, two = Draft(tmp_path), Draft(tmp_path)

    assert (one.open(), two.open()) == (UserInput("of one"), UserInput("of two"))
    for each in (one, two, third):
        each.close()


@pytest.mark.parametrize("then", ["another", "none"])
@pytest.mark.parametrize("steps", range(4))
def test_draft_has_its_pictures_wherever_a_kill_comes_between(tmp_path: Path, steps: int, then: str):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(steps), then], check=False)

    draft = Draft(tmp_path)
    words = draft.open()
    draft.close()
    assert words.text.startswith("look ")
    assert [each.mark for each in words.images] == MARK_IN.findall(words.text)


def test_line_with_a_key_is_not_kept(tmp_path: Path):
    left_by(tmp_path, "see\n#key openai sk-canary")

    assert found_in(tmp_path).strip() == "see"


@pytest.mark.parametrize("damage", [b"\xff\xfe", None], ids=["no text", "a folder"])
def test_unreadable_or_unwritable_draft_breaks_nothing_else(tmp_path: Path, damage: bytes | None):
    if damage:
        (tmp_path / "1.txt").write_bytes(damage)
    else:
        (tmp_path / "1.txt").mkdir()
    draft = Draft(tmp_path)

    assert draft.open() == UserInput("")
    draft.write(UserInput("text"))
    draft.close()
