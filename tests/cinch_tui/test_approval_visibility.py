from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.dialogs import Host
from fakes.painting import paint
from fakes.scenes import CHANGE, talk
from msgspec.structs import replace
from textual.events import MouseScrollUp
from textual.widgets import Static

from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.screen import Covered, ScrollConversation
from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.widgets.view_pane import ViewPane
from harness.messages import ToolCall
from harness.permissions import Decision, Rule
from harness.risk import Risk
from harness.user_requests import ApprovalRequest, Denied
from harness.views import DiffView, TerminalView, View

EDIT = ApprovalRequest(
    call=ToolCall("1", "edit_file", {"path": "price.py"}),
    label="Edit file",
    summary="price.py",
    view=DiffView("price.py", "price = 1\n", "price = 2\n"),
    cwd=Path("/home/ada/shop"),
    decision=Decision("ask", "it changes files", Risk("edit"), offers=(Rule("edit_file"),)),
)


def host(request: ApprovalRequest) -> Host:
    return Host(ApprovalScreen(request, grace=0))


def shown(app: Host) -> str:
    pane = app.screen.query_one(ViewPane)
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


@pytest.mark.parametrize("key", ["y", "enter", "s", "a"])
@pytest.mark.parametrize(
    "view",
    [
        TerminalView("".join(f"echo {number}\n" for number in range(60)) + "touch HIDDEN", ""),
        TerminalView(f"echo {'x' * 5_000}; touch HIDDEN", ""),
        DiffView("a.py", None, "".join(f"line {number}\n" for number in range(60))),
    ],
)
async def test_call_is_not_allowed_before_its_end_was_visible(view: View, key: str):
    app = host(replace(EDIT, view=view))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        unseen = str(app.screen.query_one("#unseen", Static).render())
        assert app.results == []
        await pilot.press("ctrl+end")
        assert not app.screen.query_one("#unseen").display
        await pilot.press(key)

    assert "more lines: scroll to allow" in unseen
    assert len(app.results) == 1


async def test_call_can_be_denied_before_its_end_was_visible():
    app = host(replace(EDIT, view=TerminalView("echo\n" * 60, "")))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")

    assert app.results == [Denied()]


async def test_blank_runs_and_invisible_characters_of_a_command_are_shown():
    command = f"ls{chr(10) * 61}; touch{' ' * 4_000}HID\u200bDEN\U000e0041"
    app = host(replace(EDIT, view=TerminalView(command, "")))

    async with app.run_test(size=(80, 24)):
        lines = shown(app).rstrip().splitlines()

    assert lines == ["ls", "⋯ 60 blank lines ⋯", "; touch ⋯ 4,000 blanks ⋯ HID⟨U+200B⟩DEN⟨U+E0041⟩"]


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
async def test_dialog_is_docked_and_reports_its_covered_rows(size: tuple[int, int]):
    covered: list[int] = []

    class Chat(Host):
        def on_covered(self, message: Covered) -> None:
            covered.append(message.rows)

    app = Chat(ApprovalScreen(replace(EDIT, view=CHANGE), grace=0))

    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        dialog = app.screen.query_one("#dialog").region
        await pilot.press("n")
        await pilot.pause()

    assert dialog.bottom == size[1]
    assert dialog.height <= size[1] * 5 // 6
    assert covered[-2:] == [dialog.height, 0]


async def test_rows_stay_covered_when_a_dialog_opens_before_the_last_closes():
    covered: list[int] = []

    class Chat(Host):
        def on_covered(self, message: Covered) -> None:
            covered.append(message.rows)

    app = Chat(ApprovalScreen(replace(EDIT, view=CHANGE), grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("n")
        app.push_screen(ApprovalScreen(EDIT, grace=0))
        await pilot.pause()
        await pilot.pause()
        dialog = app.screen.query_one("#dialog").region

    assert covered[-1] == dialog.height


async def test_end_of_the_conversation_stays_visible_when_the_lines_of_running_calls_disappear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    app = chat(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        widgets = app.controller.view.widgets
        widgets.show([*talk(), NoticeBlock("The last sentence")])
        for call_id in ("1", "2"):
            widgets.tool_panel.started(call_id, "Edit file", "price.py")
        await widgets.transcript.drained()
        await app.push_screen(ApprovalScreen(replace(EDIT, view=CHANGE), grace=0))

        def ends_at_dialog() -> bool:
            return widgets.transcript_area.region.bottom == app.screen.query("#dialog").first().region.y

        await until(pilot, lambda: widgets.tool_panel.region and ends_at_dialog())
        widgets.tool_panel.clear()
        await until(pilot, lambda: not widgets.tool_panel.region and ends_at_dialog())
        await pilot.pause()

        above = paint(app).rows[: widgets.transcript_area.region.bottom]
    assert "The last sentence" in "\n".join(above)


@pytest.mark.parametrize("keys", ["shift+up", "wheel"])
async def test_conversation_above_scrolls_while_the_dialog_is_open(keys: str):
    scrolled: list[int] = []

    class Chat(Host):
        def on_scroll_conversation(self, message: ScrollConversation) -> None:
            scrolled.append(message.lines)

    app = Chat(ApprovalScreen(EDIT, grace=0))

    async with app.run_test(size=(80, 24)) as pilot:
        if keys == "wheel":
            await pilot._post_mouse_events([MouseScrollUp], app.screen, offset=(5, 2))
        else:
            await pilot.press(keys)
        await pilot.pause()

    assert scrolled == [-3]


async def test_change_that_fits_the_free_rows_is_allowed_at_once():
    app = host(replace(EDIT, view=DiffView("a.py", None, "".join(f"line {number}\n" for number in range(10)))))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        conversation = app.screen.query_one("#dialog").region.y
        await pilot.press("y")

    assert conversation >= 5
    assert len(app.results) == 1


async def test_hint_to_scroll_fits_a_narrow_screen():
    app = host(replace(EDIT, view=TerminalView("echo\n" * 6_000, "")))

    async with app.run_test(size=(40, 24)) as pilot:
        await pilot.pause()
        unseen = app.screen.query_one("#unseen", Static)

        assert len(str(unseen.render())) <= unseen.size.width
