from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.talk import tell
from textual.pilot import Pilot
from textual.screen import Screen

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.picker import Picker
from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.approval.policy import PLAN
from harness.messages import new_id, user
from harness.ports.provider import Model
from harness.session.store import SessionStore

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
    store = SessionStore(app.controller.options.paths.data, tmp_path, new_id())
    tell(store, user("soon gone"))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press("alt+s")
        await until(pilot, lambda: isinstance(app.screen, Picker))
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
