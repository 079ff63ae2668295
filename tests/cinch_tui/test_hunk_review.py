from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.dialogs import Host, until_listening
from msgspec.structs import replace
from textual.screen import Screen
from textual.widgets import Input, Static

from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.widgets.answer_bar import AnswerBar
from cinch_tui.widgets.view_pane import ReviewPane
from harness.messages import ToolCall
from harness.permissions import Decision, Rule
from harness.risk import Risk
from harness.user_requests import (
    AllowHunks,
    AllowOnce,
    Approval,
    ApprovalRequest,
    Denied,
    ProposeRevision,
    RejectedHunk,
)
from harness.views import DiffView, TerminalView

OLD = "".join(f"line {number} of the file\n" for number in range(1, 41))
NEW = (
    OLD.replace("line 2 of", "line two of")
    .replace("line 20 of", "第二十行 of")
    .replace("line 39 of the file\n", "line 39 of the file\nand one more\n")
)
EDIT = ApprovalRequest(
    call=ToolCall("1", "edit_file", {"path": "src/a.py"}),
    label="Edit file",
    summary="src/a.py",
    view=DiffView("src/a.py", OLD, NEW),
    cwd=Path("/home/ada/shop"),
    decision=Decision("ask", "it changes files", Risk("edit"), offers=(Rule("edit_file"),)),
    is_revisable=True,
)
RUN = replace(EDIT, call=ToolCall("1", "bash", {"command": "ls"}), view=TerminalView("ls", ""))


class Giving(Host):
    """An app that can give its terminal away."""

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


def host(request: ApprovalRequest = EDIT, editor: str = "") -> Host:
    return Giving(ApprovalScreen(request, grace=0, editor=editor))


def editor(folder: Path, body: str) -> str:
    script = folder / "editor.py"
    script.write_text(f"import pathlib, sys\nfile = pathlib.Path(sys.argv[-1])\n{body}\n")
    return f'"{sys.executable}" "{script}"'


def shown(screen: Screen[object]) -> str:
    pane = screen.query_one(ReviewPane)
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


def answers(screen: Screen[object]) -> list[str]:
    return [f"{each.key} {each.text}" for each in screen.query_one(AnswerBar).answers]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("y", AllowOnce()),
        ("h down space enter y", AllowHunks((RejectedHunk(1),))),
        ("h y n y enter", AllowHunks((RejectedHunk(1),))),
        ("h j space k space enter enter", AllowHunks((RejectedHunk(0), RejectedHunk(1)))),
        ("h space space enter y", AllowOnce()),
        ("h r space enter y", AllowHunks((RejectedHunk(1), RejectedHunk(2)))),
        ("h r a escape y", AllowOnce()),
        ("h d n o enter enter y", AllowHunks((RejectedHunk(0, "no"),))),
        ("h d n o escape enter y", AllowHunks((RejectedHunk(0),))),
        ("h y d n o enter y y", AllowHunks((RejectedHunk(1, "no"),))),
        ("h n escape d n o enter", Denied("no")),
        ("h n escape escape", Denied()),
        ("tab n enter n", Denied()),
    ],
)
async def test_hunks_are_taken_or_left_by_key(keys: str, answer: Approval):
    app = host()

    async with app.run_test(size=(80, 60)) as pilot:
        for key in keys.split():
            await pilot.press(key)
            await pilot.pause()

    assert app.results == [answer]


async def test_each_hunk_shows_its_state_and_reason_without_color():
    app = host()

    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press("h", "down", "d", *"too soon".replace(" ", "_"), "enter")
        await pilot.pause()

        assert "[x] change 1 of 3" in shown(app.screen)
        assert " [ ] change 2 of 3, skipped: too_soon" in shown(app.screen)
        assert answers(app.screen)[0] == "y Allow 2 of 3 changes"
        assert not any("session" in line or "always" in line for line in answers(app.screen))


async def test_the_field_for_a_reason_names_the_change_and_the_frame_its_keys():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("h", "down", "d")

        assert app.screen.query_one("#reason", Input).placeholder.startswith("reason for skipping change 2:")
        assert app.screen.query_one("#dialog").border_subtitle == "Enter saves · Esc goes back"


async def test_the_current_hunk_is_visible():
    app = host()

    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.press("h", "down", "down")
        await pilot.pause()

        assert "▶[x] change 3 of 3" in shown(app.screen)


async def test_a_stray_key_while_hunks_are_chosen_never_leads_to_the_answers_keys():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("h", "n", "x")
        await until_listening(pilot)
        await pilot.press("a")
        await pilot.pause()

        assert app.results == []
        assert answers(app.screen)[0] == "y Allow once"


async def test_hunk_review_needs_several_hunks():
    one = replace(EDIT, view=DiffView("a.py", None, NEW))
    for request in (one, replace(EDIT, is_revisable=False), RUN):
        app = host(request)
        async with app.run_test(size=(80, 24)):
            assert not any(line.startswith("h") for line in answers(app.screen))


@pytest.mark.parametrize(
    ("request_", "body", "answer"),
    [
        (RUN, "file.write_text(file.read_text() + ' -la\\n')", ProposeRevision("ls -la")),
        (
            EDIT,
            "file.write_bytes(file.read_bytes().replace(b'line two', b'line 2'))",
            ProposeRevision(NEW.replace("two", "2")),
        ),
    ],
)
async def test_a_proposal_can_be_edited_in_the_users_editor(
    tmp_path: Path, request_: ApprovalRequest, body: str, answer: Approval
):
    app = host(request_, editor(tmp_path, body))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        await app.workers.wait_for_complete()
        await pilot.pause()

    assert app.results == [answer]


@pytest.mark.parametrize("body", ["", "sys.exit(1)", "file.write_text('\\n')"])
async def test_an_editor_that_changes_nothing_or_fails_leaves_the_question_open(tmp_path: Path, body: str):
    app = host(RUN, editor(tmp_path, body))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert app.results == []


async def test_a_revised_call_is_marked_as_edited():
    app = host(replace(EDIT, is_revised=True))

    async with app.run_test(size=(80, 24)):
        assert "(edited by you)" in str(app.screen.query_one("#heading", Static).render())


async def test_one_key_puts_the_sides_side_by_side_and_back():
    app = host()

    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        unified = shown(app.screen)
        await pilot.press("v")
        beside = shown(app.screen)
        await pilot.press("v")

        assert "│" not in unified
        assert "line 2 of the file" in beside.split("line two of the file")[0].splitlines()[-1]
        assert shown(app.screen) == unified


async def test_one_key_shows_the_unchanged_lines_and_folds_them_again():
    app = host()

    async with app.run_test(size=(80, 60)) as pilot:
        folded = shown(app.screen)
        await pilot.press("u")
        whole = shown(app.screen)
        await pilot.press("u")

        assert "unchanged lines" in folded
        assert "line 10 of the file" in whole
        assert shown(app.screen) == folded


@pytest.mark.parametrize("keys", [[], ["v"]])
async def test_unfolding_a_diff_keeps_the_line_that_is_read_in_its_place(keys: list[str]):
    app = host()

    async with app.run_test(size=(120, 14)) as pilot:
        await pilot.press(*keys, "ctrl+end")
        await pilot.pause()
        read = "line 38 of the file"
        before = row_of(app.screen, read)
        await pilot.press("u")
        await pilot.pause()
        unfolded = row_of(app.screen, read)
        await pilot.press("u")
        await pilot.pause()

        assert before == unfolded == row_of(app.screen, read)
        assert before > 0


def row_of(screen: Screen[object], text: str) -> int:
    return next(y for y, row in enumerate(shown(screen).splitlines()) if text in row)


async def review_two(pilot) -> None:
    await pilot.press("h", "down", "d", *"later", "enter")
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 50)])
def test_picture_of_a_review(snap_compare, size: tuple[int, int]):
    assert snap_compare(host(), terminal_size=size, run_before=review_two)
