from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.prompt_app import PromptApp, type_text
from textual.events import Key, Paste
from textual.pilot import Pilot

from cinch_tui.user_input import UserInput
from cinch_tui.widgets.prompt.prompt import Prompt


async def test_enter_posts_the_text_and_empties_the_prompt(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "fix it")

        await pilot.press("enter", "enter")

        assert app.sent == ["fix it"]
        assert app.prompt.text == ""


async def test_keys_that_arrive_together_act_in_their_order(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for key in ("a", "x", "backspace", "b", "enter", "c", "left", "d", "ctrl+j", "/", "p", "l", "tab"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await pilot.pause()

        assert app.sent == ["ab"]
        assert app.prompt.text == "d\n/plc"


async def test_alt_enter_posts_a_follow_up(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "then")

        await pilot.press("alt+enter")

        [message] = app.received
        assert isinstance(message, Prompt.FollowUp)
        assert message.user_input.text == "then"


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j"])
async def test_new_line_keys_break_the_line(tmp_path: Path, key: str):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "one")
        await pilot.press(key)
        await type_text(pilot, "two")

        await pilot.press("enter")

        assert app.sent == ["one\ntwo"]


async def test_backslash_before_enter_breaks_the_line(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "one\\")
        await pilot.press("enter")
        await type_text(pilot, "two")

        await pilot.press("enter")

        assert app.sent == ["one\ntwo"]


async def test_typing_never_quits_and_blank_text_is_not_sent(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, " ")
        await pilot.press("enter")
        await type_text(pilot, "q")

        assert app.is_running
        assert app.sent == []
        assert app.prompt.text == " q"


async def test_input_grows_with_its_text_up_to_ten_rows(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test(size=(60, 40)) as pilot:
        assert app.input.outer_size.height == 3

        await type_text(pilot, "1\n2\n3")
        assert app.input.outer_size.height == 5

        app.prompt.text = "\n".join(map(str, range(30)))
        await pilot.pause()
        assert app.input.outer_size.height == 10


async def test_small_terminal_keeps_half_for_the_conversation(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test(size=(40, 10)) as pilot:
        app.prompt.text = "\n".join(map(str, range(30)))
        await pilot.pause()

        assert app.input.outer_size.height <= 5


async def test_up_and_down_walk_the_history_and_keep_the_draft(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for text in ("first", "second\nline"):
            await type_text(pilot, text)
            await pilot.press("enter")
        await type_text(pilot, "draft")

        await pilot.press("up")
        assert app.prompt.text == "second\nline"
        await pilot.press("up", "up")
        assert app.prompt.text == "first"
        await pilot.press("up")
        assert app.prompt.text == "first"
        await pilot.press("down", "down")

        assert app.prompt.text == "draft"


async def test_an_entry_changed_while_walking_is_not_lost(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for text in ("first", "second"):
            await type_text(pilot, text)
            await pilot.press("enter")

        await pilot.press("up")
        await type_text(pilot, " changed")
        await pilot.press("up", "down")

        assert app.prompt.text == "second changed"


async def test_history_entry_that_is_a_command_does_not_catch_the_arrows(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for text in ("first", "/plan"):
            app.prompt.text = text
            await pilot.press("enter")

        await pilot.press("up")
        await pilot.pause()
        assert (app.prompt.text, app.popup.is_open) == ("/plan", False)
        await pilot.press("up")

        assert app.prompt.text == "first"


async def test_restore_puts_the_text_before_what_was_typed_since(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "#frob")
        await pilot.press("enter")
        await type_text(pilot, "next")

        app.prompt.restore(app.sent[0])

        assert app.prompt.text == "#frob\nnext"


async def test_take_empties_the_prompt_without_history(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "half")

        taken = app.prompt.take()
        await pilot.press("up")

        assert taken == UserInput("half")
        assert app.prompt.text == ""


async def test_keys_that_mean_nothing_to_the_prompt_are_left_to_others(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("escape", "pageup", "shift+left", "ctrl+d", "ctrl+c")

        assert app.left == ["escape", "pageup", "shift+left", "ctrl+d", "ctrl+c"]


async def test_ctrl_g_asks_for_the_editor_and_keeps_the_text(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "story")

        await pilot.press("ctrl+g")

        assert [type(message) for message in app.received] == [Prompt.EditorRequested]
        assert app.prompt.text == "story"


async def test_large_paste_is_shown_as_a_placeholder_and_sent_whole(tmp_path: Path):
    pasted = "".join(f"line {number}\n" for number in range(48))
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "see ")
        app.post_message(Paste(pasted.replace("\n", "\r\n")))
        await pilot.pause()
        await type_text(pilot, " ok")

        assert app.input.text == "see [pasted 48 lines] ok"
        await pilot.press("enter")

        assert app.sent == [f"see {pasted} ok"]


async def test_two_pastes_of_one_size_are_distinguished(tmp_path: Path):
    first, second = "a\n" * 20, "b\n" * 20
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for pasted in (first, second, first):
            app.post_message(Paste(pasted))
            await pilot.pause()

        assert app.input.text == "[pasted 20 lines][pasted 20 lines #2][pasted 20 lines]"
        await pilot.press("enter")

        assert app.sent == [first + second + first]


async def test_small_paste_is_inserted_with_control_characters_made_visible(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste("a\x1b[2Jb\r\nc\td\u2028e"))
        await pilot.pause()

        assert app.prompt.text == "a␛[2Jb\nc\td\ne"


async def test_placeholder_is_deleted_as_one_character(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste("x" * 900))
        await pilot.pause()
        assert app.input.text == "[pasted 900 characters]"

        await pilot.press("backspace")
        assert app.prompt.text == ""
        await pilot.press("ctrl+underscore", "home", "delete")
        assert app.prompt.text == ""


async def test_megabyte_in_one_line_does_not_freeze_the_prompt(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste("x" * 1_000_000))
        await pilot.pause()
        await type_text(pilot, "go")

        assert len(app.input.text) < 60
        app.prompt.text = app.prompt.text

        assert len(app.input.text) < 60
        assert app.prompt.text == "x" * 1_000_000 + "go"


async def test_key_line_reaches_the_screen_but_no_history(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "use it\n#key openai sk-canary\nnow")
        await pilot.press("enter")
        await pilot.press("up")

        assert app.sent == ["use it\n#key openai sk-canary\nnow"]
        assert app.prompt.text == "use it\nnow"
        assert "sk-canary" not in (tmp_path / "state" / "history.jsonl").read_text()


async def test_idle_prompt_has_no_running_timer(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "x")

        assert app.input.cursor_blink is False


async def test_up_in_an_empty_prompt_asks_for_what_waits_before_the_history(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "sent")
        await pilot.press("enter")
        app.prompt.something_waits = True
        await pilot.press("up")
        asked, text = sum(isinstance(message, Prompt.RecallQueued) for message in app.received), app.prompt.text
        app.prompt.something_waits = False
        await pilot.press("up")

        assert (asked, text) == (1, "")
        assert app.prompt.text == "sent"


async def test_new_lines_below_the_view_are_reported_in_the_frame(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test():
        titles: list[str] = []
        for count in (1_200, 1, 0):
            app.prompt.unseen = count
            titles.append(str(app.input.border_title))

        assert titles == ["↓ 1,200 new lines · Ctrl+End", "↓ 1 new line · Ctrl+End", ""]


async def test_typing_is_noted_in_time(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        before = time.monotonic()

        await type_text(pilot, "x")

        assert app.prompt.typed_at >= before


@pytest.mark.parametrize(
    ("theme", "keys"),
    [("cinch-dark", "/"), ("cinch-light", "#approve "), ("mono-white", "/th"), ("high-contrast", "two\nlines")],
    ids=["commands", "arguments", "mono", "lines"],
)
def test_prompt_picture(snap_compare, tmp_path: Path, theme: str, keys: str):
    async def type_keys(pilot: Pilot[None]) -> None:
        await type_text(pilot, keys)

    assert snap_compare(PromptApp(tmp_path, theme), terminal_size=(80, 16), run_before=type_keys)
