from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.talk import tell, tour

from cinch_tui.app.app import CinchApp
from cinch_tui.transcript.blocks import transcript_text
from harness.errors import CinchError
from harness.messages import new_id, user
from harness.session.journal import Journal, is_locked
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    return chat(tmp_path, "-c")


def saved(app: CinchApp) -> Path:
    options = app.controller.options
    store = SessionRecorder(options.paths.data, options.cwd, new_id())
    tell(store, *tour(), user("and now?"), *tour()[-1:])
    store.close()
    return store.path


@pytest.mark.parametrize(
    ("number", "kept", "prompt"),
    [("3", 5, ""), ("4", 5, "and now?"), ("5", 7, ""), ("1", 0, "look at both")],
)
async def test_fork_continues_in_a_copy_up_to_the_message(app: CinchApp, number: str, kept: int, prompt: str):
    path = saved(app)
    before = path.read_bytes()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*f"/fork {number}", "enter")
        await until(pilot, lambda: app.controller.agent.session_id != path.stem)
        await until(pilot, lambda: app.controller.view.prompt.text == prompt)

        assert len(app.controller.agent.history.messages) == kept

    assert path.read_bytes() == before


async def test_fork_lists_the_messages_to_choose_from(app: CinchApp):
    path = saved(app)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/fork", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.controller.view.prompt.text == "and now?")
        loaded = app.controller.assembly.loaded

    assert loaded is not None
    assert loaded.title == "look at both (fork)"
    assert len(load_session(path).messages) == 7


async def test_rename_and_tag_commands_change_the_open_session(app: CinchApp):
    path = saved(app)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/rename A new title", "enter")
        await until(pilot, lambda: load_session(path).title == "A new title")
        await pilot.press(*"/tag bug later", "enter")
        await until(pilot, lambda: load_session(path).tags == ("bug", "later"))
        await pilot.press(*"/tag -bug", "enter")
        await until(pilot, lambda: load_session(path).tags == ("later",))


async def test_new_session_does_not_wait_until_the_one_before_is_on_disk(
    app: CinchApp, monkeypatch: pytest.MonkeyPatch
):
    path, released = saved(app), threading.Event()
    monkeypatch.setattr(os, "fsync", lambda _: released.wait(10))

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"/rename Later", "enter")
        await until(pilot, lambda: load_session(path).title == "Later")
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: app.controller.agent.session_id != path.stem)
        was_locked = is_locked(path)
        released.set()
        await until(pilot, lambda: not is_locked(path))
        await pilot.press(*f"/resume {path.stem} ", "enter")
        await until(pilot, lambda: app.controller.agent.session_id == path.stem)

        assert was_locked
        assert not app.controller.assembly.is_read_only


async def test_session_opened_read_only_stays_unchanged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-c", "--read-only")
    path = saved(app)
    before = path.read_bytes()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        with pytest.raises(CinchError, match="read-only; /fork continues in a copy"):
            app.controller.check_writable()
        assert "Read-only" in app.controller.view.prompt.field.placeholder
        await pilot.press(*"/fork 3", "enter")
        await until(pilot, lambda: not app.controller.assembly.is_read_only)
        await until(pilot, lambda: "Read-only" not in app.controller.view.prompt.field.placeholder)

        assert len(app.controller.agent.history.messages) == 5

    assert path.read_bytes() == before


async def test_session_open_in_another_process_continues_in_a_copy(app: CinchApp):
    path = saved(app)
    other = Journal(path, print)
    other.acquire()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        agent, transcript = app.controller.agent, app.controller.view.widgets.transcript

        assert agent.session_id != path.stem
        assert len(agent.history) == 7
        assert "open in another process; continuing in a copy" in transcript_text(transcript.blocks)
    other.close()
