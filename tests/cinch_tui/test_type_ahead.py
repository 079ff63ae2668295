from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.decisions import needs_approval
from fakes.dialogs import Host, until_listening
from fakes.talk import tell
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen

from cinch_tui.app.app import CinchApp
from cinch_tui.notifications.presence import COMPOSING, Presence
from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.dialog import GRACE, PAUSE, Dialog
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.session_browser import SessionBrowser
from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.approval.modes import PLAN
from harness.messages import ToolCall, new_id, user
from harness.ports.provider import Model
from harness.risk import Risk
from harness.session.recorder import SessionRecorder
from harness.user_requests import AllowOnce, ApprovalRequest
from harness.views import TerminalView

RUN = ApprovalRequest(
    ToolCall("1", "shell", {}),
    "Run command",
    "ls",
    needs_approval(Risk("execute")),
    TerminalView("ls", ""),
    Path("/shop"),
)
ITEMS = [Item("one", "", 1), Item("two", "", 2), Item("three", "", 3)]


async def opened_while_typing(pilot: Pilot[None], app: Host, dialog: Dialog[object], *keys: str) -> None:
    """Put a dialog up, with these keys pressed between its opening and its first picture."""
    shown = app.push_screen(dialog, app.results.append)
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))
    await shown
    await until_listening(pilot)
    await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "value"), [(["enter"], 1), (["down", "enter"], 2), (["t", "h", "enter"], 3), (["escape"], None)]
)
async def test_keys_that_come_before_a_list_is_drawn_are_for_the_list(keys: list[str], value: int | None):
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, Picker("Which?", ITEMS), *keys)
        await until(pilot, lambda: app.results)

        assert app.results == [value]
        assert app.typed == []


async def test_keys_that_come_before_a_list_is_drawn_are_for_the_prompt_while_the_user_types():
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, Picker("Which?", ITEMS, grace=0.05), "t", "h", "enter")
        await pilot.press("enter")

        assert app.results == [1]
        assert "".join(app.typed) == "th"


async def test_nothing_is_allowed_by_a_key_that_came_before_the_question():
    app = Host()

    async with app.run_test() as pilot:
        await opened_while_typing(pilot, app, ApprovalScreen(RUN, grace=0.05), "y", "enter")
        answered = list(app.results)
        await pilot.press("y")

        assert answered == []
        assert app.results == [AllowOnce()]
        assert "".join(app.typed) == "y"


async def test_typing_in_the_middle_of_a_sentence_extends_the_grace_period(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    now = 100.0

    async with app.run_test() as pilot:
        await ready(pilot, app)
        app.controller.presence = Presence(lambda: now)
        app.controller.presence.typed()
        with_nothing_typed = app.controller.grace()
        app.controller.view.prompt.text = "yes, and then"
        in_mid_sentence = app.controller.grace()
        now += COMPOSING
        long_ago = app.controller.grace()

    assert (with_nothing_typed, in_mid_sentence, long_ago) == (GRACE, PAUSE, GRACE)


Gate = Callable[[], None]


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[CinchApp, Gate]:
    """An app whose agent is not there before the gate is opened."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app, gate = chat(tmp_path), asyncio.Event()
    assemble = app.controller._assemble

    async def assemble_later(model: Model | None):
        await gate.wait()
        return await assemble(model)

    monkeypatch.setattr(app.controller, "_assemble", assemble_later)
    return app, gate.set


def notices(app: CinchApp) -> list[str]:
    return [block.text for block in app.controller.view.widgets.transcript.blocks if isinstance(block, NoticeBlock)]


async def furnished(pilot: Pilot[object], app: CinchApp) -> None:
    await until(pilot, lambda: app.controller._view is not None)


async def test_a_command_runs_as_soon_as_there_is_an_agent(starting: tuple[CinchApp, Gate]):
    app, open_gate = starting

    async with app.run_test() as pilot:
        await furnished(pilot, app)
        await pilot.press(*"#approve on", "enter")
        early = (app.controller.view.prompt.text, notices(app))
        open_gate()
        await ready(pilot, app)
        await until(pilot, lambda: app.controller.agent.state.approval == "on")

    assert early == ("", [])


async def test_a_line_for_the_shell_runs_as_soon_as_there_is_an_agent(starting: tuple[CinchApp, Gate]):
    app, open_gate = starting

    async with app.run_test() as pilot:
        await furnished(pilot, app)
        await pilot.press(*"!!echo hi", "enter")
        open_gate()
        await ready(pilot, app)
        blocks = app.controller.view.widgets.transcript.blocks
        await until(pilot, lambda: [each for each in blocks if isinstance(each, ToolBlock) and each.status == "done"])

        assert notices(app) == []


async def test_a_key_for_the_agent_waits_for_it_too(starting: tuple[CinchApp, Gate]):
    app, open_gate = starting

    async with app.run_test() as pilot:
        await furnished(pilot, app)
        await pilot.press("shift+tab")
        open_gate()
        await ready(pilot, app)
        await until(pilot, lambda: app.controller.agent.state.mode is PLAN)


async def test_a_failing_key_action_is_reported_and_ends_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    store = SessionRecorder(app.controller.options.paths.data, tmp_path, new_id())
    tell(store, user("soon gone"))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("alt+s")
        await until(pilot, lambda: isinstance(app.screen, SessionBrowser) and len(app.screen._all) == 1)
        store.path.unlink()
        await pilot.press("enter")
        await until(pilot, lambda: reported(app.screen))

        assert app.fault == ""


def reported(screen: Screen[object]) -> bool:
    return any(each.severity == "error" for each in screen.app._notifications)


async def test_text_typed_while_no_session_is_found_is_the_prompt_of_a_new_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-c")
    gate, show_end = asyncio.Event(), app.controller._show_end

    async def show_end_later() -> None:
        await gate.wait()
        await show_end()

    monkeypatch.setattr(app.controller, "_show_end", show_end_later)

    async with app.run_test() as pilot:
        await furnished(pilot, app)
        await pilot.press(*"typed early")
        gate.set()
        await ready(pilot, app)
        await until(pilot, lambda: notices(app))

        assert notices(app) == ["There is no session in this folder yet: a new one is started."]
        assert app.controller.view.prompt.text == "typed early"
        assert app.controller.refusal == ""
