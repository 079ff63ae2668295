from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.decisions import needs_approval
from fakes.dialogs import Host, until_listening
from msgspec.structs import replace
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Static

from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.user_dialogs.approval_options import PendingCalls, answers_to
from cinch_tui.widgets.answer_bar import AnswerBar
from cinch_tui.widgets.view_pane import ViewPane
from harness.messages import ToolCall
from harness.permissions import Decision, Rule
from harness.risk import PathAccess, Risk, RiskLevel
from harness.user_requests import (
    AllowAlways,
    AllowForSession,
    AllowHunks,
    AllowOnce,
    Approval,
    ApprovalDecision,
    ApprovalRequest,
    BatchApproval,
    CallApproval,
    Denied,
    ProposeRevision,
    RejectedHunk,
)
from harness.views import DiffView, TerminalView

OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 3\n", "three\n").replace("line 33\n", "thirty-three\n")


class Giving(Host):
    """An app that can give its terminal away."""

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


async def press(pilot: Pilot[object], *keys: str) -> None:
    """Press keys as a user does, who scrolls until the end of a call is visible."""
    for key in keys:
        await pilot.press(key)
        while key == "ctrl+end" and not calls_of(pilot).shown.is_seen:
            await pilot.pause(0.01)
            await pilot.press(key)


def calls_of(pilot: Pilot[object]) -> PendingCalls:
    assert isinstance(pilot.app.screen, ApprovalScreen)
    return pilot.app.screen._calls


def command(call_id: str, text: str, level: RiskLevel = "execute") -> ApprovalRequest:
    return ApprovalRequest(
        ToolCall(call_id, "bash", {"command": text}),
        "Run command",
        text,
        needs_approval(Risk(level), *((Rule("bash", f"{text}:*"),) if level == "execute" else ())),
        TerminalView(text, ""),
        Path("/work"),
    )


def edit(call_id: str, path: str) -> ApprovalRequest:
    call = ToolCall(call_id, "edit_file", {"path": path})
    view = DiffView(path, OLD, NEW)
    offered = needs_approval(Risk("edit"), Rule("edit_file"))
    return ApprovalRequest(call, "Edit file", path, offered, view, Path("/work"), is_revisable=True)


def batch(first: ApprovalRequest, *others: ApprovalRequest) -> ApprovalRequest:
    placed = [replace(each, position=at, total=len(others) + 1) for at, each in enumerate((first, *others), 1)]
    return replace(placed[0], others=tuple(placed[1:]))


FIVE = batch(command("1", "make"), edit("2", "a.py"), command("3", "rm -rf x", "dangerous"), edit("4", "b.py"))
PLAIN = batch(command("1", "make"), command("2", "ls"), edit("3", "a.py"))


def said(**answers: ApprovalDecision) -> BatchApproval:
    return BatchApproval(tuple(CallApproval(call_id.strip("_"), answer) for call_id, answer in answers.items()))


ALL = said(_1=AllowOnce(), _2=AllowOnce(), _3=AllowOnce())


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("y", AllowOnce()),
        ("right y", said(_2=AllowOnce())),
        ("right right ctrl+end s", said(_3=AllowForSession())),
        ("right a", said(_2=AllowAlways())),
        ("left n", said(_3=Denied())),
        ("right left d n o enter", Denied("no")),
        ("right right right y", AllowOnce()),
        ("left ctrl+end A", ALL),
        ("right right ctrl+end A", ALL),
        ("T", said(_1=AllowOnce(), _2=AllowOnce())),
        ("N", said(_1=Denied(), _2=Denied(), _3=Denied())),
        ("right escape", said(_2=Denied())),
    ],
)
async def test_each_is_answered_alone_or_all_together(keys: str, answer: Approval):
    app = Host(ApprovalScreen(PLAIN, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *keys.split())

    assert app.results == [answer]


async def test_allow_all_excludes_dangerous_calls():
    app = Host(ApprovalScreen(FIVE, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        words = "\n".join(app.screen.query_one(AnswerBar).lines(76))
        await press(pilot, "right", "ctrl+end", "left", "left", "ctrl+end", "A")

    assert "A Allow the 3 that are not dangerous" in words
    assert "N Deny all 4" in words
    assert app.results == [said(_1=AllowOnce(), _2=AllowOnce(), _4=AllowOnce())]


async def test_all_are_not_allowed_before_each_has_been_shown_in_full():
    app = Host(ApprovalScreen(batch(command("1", "make"), command("2", "ls"), edit("3", "a.py")), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "A")
        reminder = str(app.screen.query_one("#unseen", Static).render())
        assert app.results == []
        await press(pilot, "left", "ctrl+end", "A")

    assert reminder == "1 call not shown in full yet: → shows the next"
    assert app.results == [ALL]


async def test_a_dangerous_one_is_not_allowed_by_enter_where_it_is_come_to():
    app = Host(ApprovalScreen(FIVE, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "right", "right", "enter")

    assert app.results == [said(_3=Denied())]


async def test_deselected_hunks_stay_out_when_all_calls_are_allowed():
    app = Host(ApprovalScreen(batch(edit("1", "a.py"), edit("2", "b.py")), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "right", "h", "n", "enter", "ctrl+end", "left", "ctrl+end", "A")

    assert app.results == [said(_1=AllowOnce(), _2=AllowHunks((RejectedHunk(0),)))]


async def test_another_of_the_calls_is_shown_with_all_that_belongs_to_it():
    app = Host(ApprovalScreen(FIVE, grace=0))

    async with app.run_test(size=(80, 30)) as pilot:
        first = str(app.screen.query_one("#others", Static).render())
        await press(pilot, "right")
        others, heading, why = (
            str(app.screen.query_one(name, Static).render()) for name in ("#others", "#heading", "#why")
        )
        pane = app.screen.query_one(ViewPane)
        lines = "\n".join(pane.render_line(y).text for y in range(pane.size.height))
        await press(pilot, "right")
        dangerous = app.screen.query_one("#why").has_class("-dangerous")

    assert first.splitlines()[0].startswith("1 of 4")
    assert first.splitlines()[1:] == [
        "  2  Edit file  a.py",
        "  3  Run command  rm -rf x  (dangerous)",
        "  4  Edit file  b.py",
    ]
    assert others.splitlines()[:2] == ["2 of 4 calls of this reply · ← → shows the others", "  1  Run command  make"]
    assert heading == "Edit file  a.py  +2 −2"
    assert why == "it needs approval · in /work"
    assert "+ three" in lines
    assert dangerous


async def test_one_call_alone_has_no_answers_to_all():
    app = Host(ApprovalScreen(edit("1", "a.py"), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        shown = app.screen.query_one("#others").display
        await press(pilot, "right", "A")
        assert app.results == []
        await until_listening(pilot)
        await press(pilot, "n")

    assert not shown
    assert app.results == [Denied()]
    assert "".join(app.typed) == "A"


async def test_the_last_pending_call_shows_its_position():
    app = Host(ApprovalScreen(replace(command("3", "make"), position=3, total=4), grace=0))

    async with app.run_test(size=(80, 24)):
        others = app.screen.query_one("#others", Static)
        reported, is_shown = str(others.render()), others.display

    assert reported == "3 of 4 calls of this reply"
    assert is_shown


async def test_a_command_can_be_allowed_always_in_its_exact_form():
    request = command("1", "make")
    exact = replace(request.decision, exact_offer=Rule("bash", "make", is_exact=True))
    request = replace(request, decision=exact)
    app = Host(ApprovalScreen(request, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        words = "\n".join(app.screen.query_one(AnswerBar).lines(76))
        await press(pilot, "x")

    assert "x Always allow exactly this command in this project" in words
    assert app.results == [AllowAlways(exact=True)]


async def test_the_exact_rule_is_not_offered_besides_one_for_the_same_path():
    decision = Decision("ask", "it reads a secret", Risk("read", (".env",)), offers=(Rule("read", "/.env"),))
    decision = replace(decision, exact_offer=Rule("read_file", "/.env"))
    request = replace(command("1", "make"), decision=decision)

    assert [each.key for each in answers_to(request)] == ["y", "s", "a", "n", "d"]


async def test_rules_that_do_not_fit_into_the_answers_are_named_above():
    request = command("1", "make")
    rules = (Rule("bash", f"make {'x' * 60}:*"), Rule("bash", "npm run build:*"))
    app = Host(ApprovalScreen(replace(request, decision=replace(request.decision, offers=rules)), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        why = str(app.screen.query_one("#why", Static).render())
        keys = str(app.screen.query_one("#dialog").border_subtitle)

    assert why.endswith(f"s and a: allow `{rules[0]}` and `{rules[1]}`")
    assert keys == "PgUp PgDn scroll · Shift+↑ Shift+↓ conversation · Esc denies"


async def test_keys_that_do_not_fit_are_left_out():
    app = Host(ApprovalScreen(command("1", "make"), grace=0))

    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.pause()
        narrow = str(app.screen.query_one("#dialog").border_subtitle)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        wide = str(app.screen.query_one("#dialog").border_subtitle)

    assert narrow == "PgUp PgDn scroll · Esc denies"
    assert wide == "PgUp PgDn scroll · Shift+↑ Shift+↓ conversation · Esc denies"


async def test_the_files_that_a_command_writes_are_reported():
    risk = Risk("execute", accesses=tuple(PathAccess(f"out{number}.txt", "write") for number in range(6)))
    app = Host(ApprovalScreen(replace(command("1", "sh build"), decision=needs_approval(risk)), grace=0))

    async with app.run_test(size=(120, 24)):
        why = str(app.screen.query_one("#why", Static).render())

    assert why == "it needs approval · changes out0.txt, out1.txt, out2.txt, out3.txt and 2 more · in /work"


async def test_another_call_can_be_changed_before_its_turn(tmp_path: Path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'make all\\n' > \"$1\"\n")
    editor.chmod(0o755)
    request = batch(edit("1", "a.py"), replace(command("2", "make"), is_revisable=True))
    app = Giving(ApprovalScreen(request, grace=0, editor=str(editor)))

    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "right", "e")
        while not app.results:
            await pilot.pause(0.01)

    assert app.results == [said(_2=ProposeRevision("make all"))]


async def test_enter_allows_no_other_call_than_the_one_it_was_pressed_on():
    app = Host(ApprovalScreen(PLAIN, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        # Over a slow line both keys come at once.
        app.post_message(Key("enter", None))
        app.post_message(Key("right", None))
        await pilot.pause(0.1)
        await pilot.pause()

    assert app.results in ([], [AllowOnce()])


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_the_answers_are_visible_at_any_size(size: tuple[int, int]):
    app = Host(ApprovalScreen(FIVE, grace=0))

    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        answers, pane = app.screen.query_one("#answers"), app.screen.query_one("#view")
        assert answers.region.bottom <= size[1]
        assert 1 <= answers.region.height <= 3
        assert pane.region.height >= 1
        await press(pilot, "right", "right", "right", "ctrl+end", "y")

    assert app.results == [said(_4=AllowOnce())]


def test_picture_of_a_batch(snap_compare):
    assert snap_compare(Host(ApprovalScreen(FIVE, grace=0)), terminal_size=(80, 30))
