from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import ClassVar

import pytest
from fakes.recording_front import RecordingFront
from fakes.widget_app import WidgetApp
from textual import on
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.pilot import Pilot

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.widgets.prompt import Prompt
from cinch_tui.widgets.prompt.completion import CommandCompletion
from cinch_tui.widgets.prompt.history import PromptHistory
from cinch_tui.widgets.prompt.input import PromptInput
from cinch_tui.widgets.prompt.mentions import MentionCompletion
from cinch_tui.widgets.prompt.popup import CompletionPopup


class PromptApp(WidgetApp):
    """Keys that the prompt leaves to others end up in `left`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"leave('{key}')") for key in ("escape", "pageup", "shift+left", "ctrl+d", "ctrl+c")
    ]

    def __init__(self, root: Path, theme: str = "cinch-dark") -> None:
        self.front = RecordingFront()
        self.prompt = Prompt(
            CommandCompletion(builtin_commands(), self.front),
            MentionCompletion(root),
            PromptHistory(root / "state" / "history.jsonl"),
        )
        self.left: list[str] = []
        super().__init__(self.prompt, styles=("prompt",), theme=theme)

    def on_mount(self) -> None:
        super().on_mount()
        self.prompt.focus()

    def action_leave(self, key: str) -> None:
        self.left.append(key)

    @on(Prompt.Submitted)
    @on(Prompt.FollowUp)
    @on(Prompt.EditorRequested)
    def keep_it(self, message: Prompt.Submitted | Prompt.FollowUp | Prompt.EditorRequested) -> None:
        self.keep(message)

    @property
    def sent(self) -> list[str]:
        return [message.text for message in self.received if isinstance(message, Prompt.Submitted)]

    @property
    def input(self) -> PromptInput:
        return self.query_one(PromptInput)

    @property
    def popup(self) -> CompletionPopup:
        return self.query_one(CompletionPopup)


async def type_text(pilot: Pilot[None], text: str) -> None:
    # Posted at once, as a fast typist's keys arrive: pressing each waits until the app is idle.
    for character in text:
        pilot.app.post_message(Key("ctrl+j", None) if character == "\n" else Key(character, character))
    await pilot.pause()


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


async def test_popup_is_up_to_date_when_keys_arrive_together(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for key in ("/", "p", "l", "tab", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await pilot.pause()

        assert app.sent == ["/plan"]


async def test_alt_enter_posts_a_follow_up(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "then")

        await pilot.press("alt+enter")

        [message] = app.received
        assert isinstance(message, Prompt.FollowUp)
        assert message.text == "then"


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

        assert taken == "half"
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

        assert app.input.text == "see [pasted #1 · 48 lines] ok"
        await pilot.press("enter")

        assert app.sent == [f"see {pasted} ok"]


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
        assert app.input.text == "[pasted #1 · 900 characters]"

        await pilot.press("backspace")
        assert app.prompt.text == ""
        await pilot.press("ctrl+z", "home", "delete")
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


async def test_typing_is_noted_in_time(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        before = time.monotonic()

        await type_text(pilot, "x")

        assert app.prompt.typed_at >= before


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
        await type_text(pilot, "/pl")
        await pilot.press("enter")
        assert (app.prompt.text, app.sent) == ("/plan", [])

        await pilot.press("enter")

        assert app.sent == ["/plan"]


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


@pytest.mark.parametrize(
    ("theme", "keys"),
    [("cinch-dark", "/"), ("cinch-light", "#approve "), ("mono", "/th"), ("high-contrast", "two\nlines")],
    ids=["commands", "arguments", "mono", "lines"],
)
def test_prompt_picture(snap_compare, tmp_path: Path, theme: str, keys: str):
    async def type_keys(pilot: Pilot[None]) -> None:
        await type_text(pilot, keys)

    assert snap_compare(PromptApp(tmp_path, theme), terminal_size=(80, 16), run_before=type_keys)
