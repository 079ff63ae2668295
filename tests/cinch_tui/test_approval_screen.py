from __future__ import annotations

from pathlib import Path

import pytest
from fakes.decisions import needs_approval
from fakes.dialogs import Host, until_listening
from fakes.scenes import CHANGE
from msgspec.structs import replace
from textual.events import Paste
from textual.widgets import Static

from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.widgets.answer_bar import AnswerBar
from cinch_tui.widgets.view_pane import ViewPane
from harness.messages import ToolCall
from harness.permissions import Decision, Rule
from harness.risk import Risk
from harness.user_requests import AllowAlways, AllowForSession, AllowOnce, Approval, ApprovalRequest, Denied
from harness.views import DiffView, ListingView, TerminalView, TextView, TodoItem, TodoView, View

EDIT = ApprovalRequest(
    call=ToolCall("1", "edit_file", {"path": "src/shop/price.py"}),
    label="Edit file",
    summary="src/shop/price.py",
    view=DiffView("src/shop/price.py", "price = 1\n", "price = 2\n"),
    cwd=Path("/home/ada/shop"),
    decision=Decision("ask", "it changes files", Risk("edit", "inside the workspace"), offers=(Rule("edit_file"),)),
)
COMMAND = 'git push --force && \\\n  rm -rf "$HOME/build"  # [bold]clean[/bold]'
RUN = ApprovalRequest(
    call=ToolCall("1", "bash", {"command": COMMAND}),
    label="Run command",
    summary='git push --force && rm -rf "$HOME/build"',
    decision=needs_approval(Risk("dangerous", "rm deletes files outside the workspace")),
    view=TerminalView(COMMAND, ""),
    cwd=Path("/home/ada/shop"),
)


def host(request: ApprovalRequest = EDIT, grace: float = 0.0) -> Host:
    return Host(ApprovalScreen(request, grace=grace))


def shown(app: Host) -> str:
    pane = app.screen.query_one(ViewPane)
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("y", AllowOnce()),
        ("enter", AllowOnce()),
        ("s", AllowForSession()),
        ("a", AllowAlways()),
        ("n", Denied()),
        ("escape", Denied()),
        ("down enter", AllowForSession()),
        ("j j k enter", AllowForSession()),
        ("down down enter", AllowAlways()),
        ("down down down enter", Denied()),
        ("up enter enter", Denied()),
        ("d enter", Denied()),
        ("d n o escape y", AllowOnce()),
        ("d t o o space b i g enter", Denied("too big")),
    ],
)
async def test_each_key_gives_its_answer(keys: str, answer: Approval):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [answer]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [("y", AllowOnce()), ("down down enter", AllowAlways()), ("d n o enter", Denied("no")), ("escape", Denied())],
)
async def test_a_small_screen_takes_the_same_keys(keys: str, answer: Approval):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [answer]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("y Allow", AllowOnce()), ("s Allow", AllowForSession()), ("a Always", AllowAlways()), ("n Deny", Denied())],
)
async def test_answers_can_be_clicked(text: str, answer: Approval):
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        lines = app.screen.query_one(AnswerBar).lines(76)
        row = next(row for row, line in enumerate(lines) if text in line)
        await pilot.click("#answers", offset=(lines[row].index(text) + 3, row))
        await pilot.pause()

    assert app.results == [answer]


async def test_dangerous_call_offers_neither_session_nor_always():
    app = host(RUN)

    async with app.run_test(size=(80, 24)) as pilot:
        options = app.screen.query_one(AnswerBar).lines(76)
        await pilot.press("s", "a")
        assert app.results == []
        await until_listening(pilot)
        await pilot.press("n")

    assert options == ["y Allow once  n Deny  d Deny with reason  "]
    assert app.results == [Denied()]


async def test_a_word_typed_during_the_grace_period_answers_nothing():
    app = host()

    async with app.run_test() as pilot:
        await pilot.press("w", "h", "a", "y", "question_mark")

        assert app.results == []
        await until_listening(pilot)
    assert "".join(app.typed) == "whay?"


async def test_two_fast_answers_count_once_and_close_one_screen():
    app = host()

    async with app.run_test() as pilot:
        await pilot.press("y", "enter", "n")
        await pilot.pause()

        assert len(app.screen_stack) == 1
    assert app.results == [AllowOnce()]


async def test_typing_for_the_prompt_approves_nothing_and_is_given_back():
    app = host(grace=60)

    async with app.run_test() as pilot:
        await pilot.press("s", "a", "y", "x", "backspace", "space", "enter")
        assert app.results == []
        app.screen.withdraw()
        await pilot.pause()

    assert app.results == []
    assert app.typed == ["say "]


async def test_a_key_that_is_no_answer_is_taken_for_typing_and_so_is_what_follows():
    dialog = ApprovalScreen(EDIT, grace=60)
    app = Host(dialog)

    async with app.run_test() as pilot:
        dialog.accept_keys()
        await pilot.press("w", "a", "y")
        assert app.results == []
        dialog.accept_keys()
        await pilot.press("y")

    assert app.typed == ["way"]
    assert app.results == [AllowOnce()]


async def test_a_stray_key_during_a_half_written_reason_focuses_the_reason_again():
    dialog = ApprovalScreen(EDIT, grace=60)
    app = Host(dialog)

    async with app.run_test(size=(80, 24)) as pilot:
        dialog.accept_keys()
        await pilot.press("d", "n", "shift+tab", "w")
        dialog.accept_keys()
        await pilot.press("o", "enter")

    assert app.typed == ["w"]
    assert app.results == [Denied("no")]


async def test_ctrl_c_is_received_while_keys_still_go_to_the_prompt():
    heard: list[str] = []

    class Listening(Host):
        def on_interrupted(self) -> None:
            heard.append("stop")

    app = Listening(ApprovalScreen(EDIT, grace=60))

    async with app.run_test() as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()

    assert heard == ["stop"]
    assert app.results == []


async def test_keys_count_after_the_grace_period_of_the_dialog():
    app = host(grace=0.01)

    async with app.run_test() as pilot:
        while not isinstance(app.focused, AnswerBar):
            await pilot.pause(0.01)
        await pilot.press("y")

    assert app.results == [AllowOnce()]


async def test_a_paste_goes_to_the_prompt():
    app = host()

    async with app.run_test() as pilot:
        app.post_message(Paste("y\nyes"))
        await until_listening(pilot)
        await pilot.press("n")

    assert app.typed == ["y\nyes"]
    assert app.results == [Denied()]


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_a_long_diff_scrolls_while_the_answers_keep_the_keys(size: tuple[int, int]):
    view = DiffView("a.py", None, "".join(f"line {number}\n" for number in range(200)))
    app = host(replace(EDIT, view=view))

    async with app.run_test(size=size) as pilot:
        pane = app.screen.query_one(ViewPane)
        await pilot.press("pagedown")
        paged = pane.scroll_offset.y
        await pilot.press("ctrl+down")
        lined = pane.scroll_offset.y
        await pilot.press("ctrl+end")
        assert "+ line 199" in shown(app)
        await pilot.press("ctrl+home")
        assert "1 + line 0" in shown(app)
        await pilot.press("tab", "j")
        assert pane.scroll_offset.y == 1
        await pilot.press("y")

    assert paged > 0
    assert lined == paged + 1
    assert app.results == [AllowOnce()]


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (TerminalView("echo [bold]hi[/bold]", ""), "echo [bold]hi[/bold]"),
        (TextView("[red]x\x1b[0m"), "[red]x␛[0m"),
        (ListingView("found", ("a", "b"), 5), "found\na\nb\n… 3 more"),
        (TodoView((TodoItem("test", "in_progress"),)), "[~] test"),
        (None, '{"path": "src/shop/price.py"}'),
    ],
)
async def test_every_view_is_shown_as_text_that_nothing_obeys(view: View | None, expected: str):
    app = host(replace(EDIT, view=view))

    async with app.run_test(size=(80, 24)):
        assert shown(app).strip() == expected


async def test_hostile_names_and_reasons_are_shown_as_they_are():
    request = replace(
        RUN,
        label="[red]X[/]",
        summary="a\nb\x1b[2J",
        decision=needs_approval(Risk("execute", "[/nope]")),
        view=None,
    )
    app = host(request)

    async with app.run_test(size=(80, 24)):
        heading, why = (str(app.screen.query_one(name, Static).render()) for name in ("#heading", "#why"))

    assert heading.startswith("[red]X[/]  a b")
    assert "\x1b" not in heading
    assert "it needs approval: [/nope] · in /home/ada/shop" in why


async def test_url_is_shown_with_its_real_host():
    url = "https://xn--80ak6aa92e.com/www.apple.com/login"
    risk = Risk("read", subject=url, is_remote=True)
    fetch = replace(EDIT, label="Fetch page", summary=url, view=TextView(url), decision=needs_approval(risk))
    app = host(fetch)
    async with app.run_test(size=(100, 30)):
        heading = app.screen.query_one("#heading", Static).content

        assert str(heading) == "Fetch page  xn--80ak6aa92e.com"
        assert url in shown(app)


async def test_enter_alone_does_not_allow_what_is_dangerous():
    app = host(RUN)
    async with app.run_test() as pilot:
        await until_listening(pilot)
        await pilot.press("enter")

        assert app.results == [Denied()]


def test_picture_of_a_diff(snap_compare):
    assert snap_compare(host(replace(EDIT, view=CHANGE)), terminal_size=(80, 24))


def test_picture_of_a_diff_on_a_small_screen(snap_compare):
    assert snap_compare(host(replace(EDIT, view=CHANGE)), terminal_size=(40, 10))


def test_picture_of_a_dangerous_command(snap_compare):
    assert snap_compare(host(RUN), terminal_size=(80, 24))


async def test_a_reason_that_was_left_goes_to_the_prompt_and_one_that_was_sent_does_not():
    left, sent = host(), host()

    async with left.run_test(size=(80, 24)) as pilot:
        await pilot.press("d", *"slow", "escape", "y")
        await pilot.pause()
    async with sent.run_test(size=(80, 24)) as pilot:
        await pilot.press("d", *"slow", "enter")
        await pilot.pause()

    assert (left.results, left.typed) == ([AllowOnce()], ["slow"])
    assert (sent.results, sent.typed) == ([Denied("slow")], [])


async def test_the_frame_shows_what_escape_does_while_one_writes_and_before():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        frame = app.screen.query_one("#dialog")
        before = frame.border_subtitle
        await pilot.press("d")
        writing = frame.border_subtitle
        await pilot.press("escape")

        assert (before or "").endswith("Esc denies")
        assert writing == "Enter sends · Esc goes back"
        assert frame.border_subtitle == before
