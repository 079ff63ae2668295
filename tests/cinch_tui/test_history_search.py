from __future__ import annotations

from pathlib import Path

from fakes.prompt_app import PromptApp, type_text
from textual.events import Paste
from textual.pilot import Pilot

from cinch_tui.widgets.prompt.history import HistorySearch
from cinch_tui.widgets.prompt.prompt_field import CompletionPopup

SENT = ("fix the parser", "run the tests", "two\nlines of text", "run the tests", "explain Parser errors")


async def send(pilot: Pilot[None], app: PromptApp, *texts: str) -> None:
    for text in texts:
        app.prompt.text = text
        await pilot.press("enter")


def found(query: str, *entries: str) -> list[str]:
    completion = HistorySearch(entries or SENT, "").find(query)
    return [candidate.text for candidate in completion.candidates] if completion else []


def test_newest_comes_first_and_each_text_once():
    assert found("") == ["explain Parser errors", "run the tests", "two\nlines of text", "fix the parser"]


def test_every_word_counts_in_any_case_and_order():
    assert found("PARSER") == ["explain Parser errors", "fix the parser"]
    assert found("the fix") == ["fix the parser"]


def test_letters_in_their_order_count_where_no_words_fit():
    assert found("rtst") == ["run the tests"]
    assert found("zz") == []


def test_letters_that_fit_nothing_are_given_up_at_once():
    texts = [f"{number} {'w1 w2 w7 x' * 40}" for number in range(200)]

    assert found("w1w2w7xw1w2w7xw1w2w7xq", *texts) == []


def test_entry_of_several_lines_is_shown_in_one_from_the_match_on():
    completion = HistorySearch([f"{'word ' * 30}\nneedle here"], "").find("needle")

    assert completion
    [candidate] = completion.candidates
    assert candidate.label.startswith("…")
    assert candidate.label.endswith("⏎ needle here")


async def test_enter_takes_what_was_found_for_editing_and_down_gives_the_draft_back(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, *SENT)
        await type_text(pilot, "lines")
        await pilot.press("ctrl+r", "enter")

        assert app.prompt.text == "two\nlines of text"
        assert app.sent == list(SENT)
        await pilot.press("down", "down", "down")
        assert app.prompt.text == "lines"


async def test_ctrl_r_again_goes_to_an_older_one(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, *SENT)
        await pilot.press("ctrl+r")
        await type_text(pilot, "parser")
        await pilot.press("ctrl+r", "tab")

        assert app.prompt.text == "fix the parser"


async def test_esc_and_ctrl_c_give_back_what_was_typed_with_its_pastes(tmp_path: Path):
    pasted = "x" * 900
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, *SENT)
        await type_text(pilot, "see\n")
        app.post_message(Paste(pasted))
        await pilot.pause()
        for key in ("escape", "ctrl+c"):
            await pilot.press("ctrl+r")
            await type_text(pilot, "tests")
            searching = (app.input.text, app.prompt.text)
            await pilot.press(key)

            assert searching == ("tests", f"see\n{pasted}")
            assert app.prompt.text == f"see\n{pasted}"
        assert app.left == []


async def test_search_that_finds_nothing_sends_nothing(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, "one")
        await pilot.press("ctrl+r")
        await type_text(pilot, "zebra")
        await pilot.press("enter")

        assert app.sent == ["one"]
        assert app.prompt.text == ""


async def test_message_restored_during_a_search_precedes_the_draft(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, "one")
        await type_text(pilot, "draft")
        await pilot.press("ctrl+r")
        app.prompt.restore("not sent")

        assert app.input.text == "not sent\ndraft"


async def test_entries_of_earlier_sessions_are_found(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, "from yesterday")
    later = PromptApp(tmp_path)
    async with later.run_test() as pilot:
        await pilot.press("ctrl+r")
        await type_text(pilot, "yester")
        await pilot.press("enter")

        assert later.prompt.text == "from yesterday"


async def test_search_shows_its_keys_in_the_frame_and_shows_what_it_found(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, *SENT)
        await pilot.press("ctrl+r")
        await type_text(pilot, "of")

        shown = str(app.popup.render())
        assert "two ⏎ lines of text" in shown
        assert "Esc back" in str(app.input.border_subtitle)
        await pilot.press("escape")
        assert app.input.border_subtitle == ""


async def test_short_prompts_are_shown_whole_and_no_match_is_shown_in_the_frame(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await send(pilot, app, *SENT)
        await pilot.press("ctrl+r")
        popup = app.prompt.query_one(CompletionPopup)
        found, rows = str(app.prompt.field.border_subtitle), str(popup.render()).splitlines()
        await type_text(pilot, "zzz")
        await pilot.pause()
        none = str(app.prompt.field.border_subtitle)
        await pilot.press("escape")

        assert [row.strip() for row in rows] == [
            "explain Parser errors",
            "run the tests",
            "two ⏎ lines of text",
            "fix the parser",
        ]
        assert found.startswith("history · ")
        assert none.startswith("history: no matches")
        assert app.prompt.field.border_subtitle == ""
