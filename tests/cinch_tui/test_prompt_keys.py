from __future__ import annotations

from pathlib import Path

import pytest
from fakes.prompt_app import PromptApp, type_text
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from cinch_tui.keybindings.keymap import recognize_alt_keys

# `|` is the cursor, before and after; each key is one that shells know.
EDITS = [
    ("one |two", "ctrl+b", "one| two"),
    ("one| two", "ctrl+f", "one |two"),
    ("one two|", "alt+b", "one |two"),
    ("one.two|", "alt+left", "one.|two"),
    ("|one two", "alt+f", "one| two"),
    ("one|\ntwo x", "alt+right", "one\ntwo| x"),
    ("one\n|two", "ctrl+left", "|one\ntwo"),
    ("one two|", "ctrl+a", "|one two"),
    ("|one two", "ctrl+e", "one two|"),
    ("on|e", "ctrl+h", "o|e"),
    ("o|ne", "ctrl+d", "o|e"),
    ("cat a/b.c|", "ctrl+w", "cat |"),
    ("cat a/b.c|", "alt+backspace", "cat a/b.|"),
    ("cat| a/b.c", "alt+d", "cat|/b.c"),
    ("one |two\nthree", "ctrl+k", "one |\nthree"),
    ("one|\nthree", "ctrl+k", "one|three"),
    ("one\ntwo| x", "ctrl+u", "one\n| x"),
    ("one\n|two", "ctrl+u", "one|two"),
    ("teh|", "ctrl+t", "the|"),
    ("a|bc", "ctrl+t", "ba|c"),
    ("|abc", "ctrl+t", "|abc"),
    ("one two|", "alt+t", "two one|"),
    ("one| two three", "alt+t", "two one| three"),
    ("|one two", "alt+u", "ONE| two"),
    ("ONE| TWO", "alt+l", "ONE two|"),
    ("| éCOLE", "alt+c", " École|"),
    ("世界| 你好", "alt+d", "世界|"),
]


async def press(app: PromptApp, before: str, *keys: str) -> str:
    """The text after the keys, with the cursor in it."""
    async with app.run_test() as pilot:
        app.prompt.text = before.replace("|", "")
        app.input.go(before.index("|"))
        await pilot.press(*keys)
        place = app.input.index
        return f"{app.input.text[:place]}|{app.input.text[place:]}"


@pytest.mark.parametrize(("before", "key", "after"), EDITS)
async def test_key_does_what_it_does_in_a_shell(tmp_path: Path, before: str, key: str, after: str):
    assert await press(PromptApp(tmp_path), before, key) == after


async def test_keys_that_cut_one_after_another_cut_one_text(tmp_path: Path):
    keys = ("ctrl+w", "ctrl+w", "ctrl+k", "end", "ctrl+y")

    assert await press(PromptApp(tmp_path), "a b c| d", *keys) == "a b c d|"


async def test_a_key_in_between_starts_another_cut(tmp_path: Path):
    keys = ("ctrl+w", "left", "ctrl+w", "ctrl+y", "alt+y")

    assert await press(PromptApp(tmp_path), "one two|", *keys) == "two| "


async def test_alt_y_cycles_through_cuts_and_does_nothing_alone(tmp_path: Path):
    app = PromptApp(tmp_path)
    cuts = ("ctrl+w", "home", "alt+d", "alt+y", "ctrl+y")

    assert await press(app, "one two|", *cuts, "alt+y", "alt+y") == "one| "


async def test_selection_is_what_is_cut(tmp_path: Path):
    assert await press(PromptApp(tmp_path), "one two| three", "ctrl+shift+left", "ctrl+w", "end", "ctrl+y") == (
        "one  threetwo|"
    )


async def test_undo_takes_back_one_key_at_a_time_and_redo_does_it_again(tmp_path: Path):
    app = PromptApp(tmp_path)

    assert await press(app, "one two|", "ctrl+w", "alt+b", "alt+u", "ctrl+underscore") == "|one "
    assert (
        await press(PromptApp(tmp_path), "one two|", "ctrl+w", "alt+b", "alt+u", *["ctrl+underscore"] * 2, "alt+e")
        == "one |"
    )


async def test_letters_that_join_others_are_typed(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        for character in "👩\u200d👧 می\u200cخواهم":
            app.post_message(Key("zero_width_joiner" if character in "\u200c\u200d" else character, character))
        await pilot.press("enter")

        assert app.sent == ["👩\u200d👧 می\u200cخواهم"]


async def test_placeholder_of_a_paste_is_cut_whole_and_comes_back_whole(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        app.post_message(Paste("x" * 900))
        await pilot.pause()
        await pilot.press("ctrl+w")
        cut = app.prompt.text
        await pilot.press("ctrl+y")

        assert cut == ""
        assert app.prompt.text == "x" * 900


async def test_words_are_passed_and_a_placeholder_counts_as_one(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "see ")
        app.post_message(Paste("x" * 900))
        await pilot.pause()
        await type_text(pilot, " here")
        await pilot.press("ctrl+a")
        stops: list[int] = []
        for _ in range(3):
            await pilot.press("alt+f")
            stops.append(app.input.index)
        for _ in range(2):
            await pilot.press("alt+b")
            stops.append(app.input.index)

        shown = app.input.text
        start, end = shown.index("["), shown.index("]") + 1
        assert stops == [3, end, len(shown), len(shown) - 4, start]


async def test_ctrl_p_and_ctrl_n_walk_lines_history_and_popup(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "first")
        await pilot.press("enter")
        await type_text(pilot, "a\nb")
        await pilot.press("ctrl+p")
        in_lines = (app.prompt.text, app.input.cursor_location[0])
        await pilot.press("ctrl+p")
        in_history = app.prompt.text
        await pilot.press("ctrl+n")
        assert (in_lines, in_history, app.prompt.text) == (("a\nb", 0), "first", "a\nb")

        app.prompt.take()
        await type_text(pilot, "/")
        await pilot.press("ctrl+n")
        assert app.popup.has_moved


@pytest.mark.parametrize(
    ("sequence", "keys"),
    [
        ("\x1bd", ["alt+d"]),
        ("\x1bd\x1bd", ["alt+d", "alt+d"]),
        ("\x1bbx", ["alt+b", "x"]),
        ("\x1b[98;3u", ["alt+b"]),
        ("\x1b\x7f", ["alt+backspace"]),
        ("\x1b[127;3u", ["alt+backspace"]),
        ("\x1b[1;3D", ["alt+left"]),
        ("\x1b[1;5C", ["ctrl+right"]),
        ("\x1f", ["ctrl+underscore"]),
        ("\x1b[45;6u", ["ctrl+shift+minus"]),
        ("\x1b[104;5u", ["ctrl+h"]),
        ("\x1b[1~\x1b[4~", ["home", "end"]),
    ],
)
def test_keys_are_received_from_old_and_new_terminals(sequence: str, keys: list[str]):
    recognize_alt_keys()

    assert [event.key for event in XTermParser().feed(sequence) if isinstance(event, Key)] == keys


@pytest.mark.parametrize(
    ("text", "keys", "left"),
    [
        ("a👨‍👩‍👧", ["backspace"], "a"),
        ("a👨‍👩‍👧b", ["left", "left", "delete"], "ab"),
        ("ae\u0301b", ["left", "left", "x"], "axe\u0301b"),
        ("می\u200c", ["backspace"], "می"),
    ],
)
async def test_cursor_treats_a_grapheme_as_one_character(tmp_path: Path, text: str, keys: list[str], left: str):
    app = PromptApp(tmp_path)

    async with app.run_test() as pilot:
        app.prompt.insert(text)
        await pilot.press(*keys)

        assert app.input.text == left
