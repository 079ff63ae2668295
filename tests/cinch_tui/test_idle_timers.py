from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Hang, Reply

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.approval import ApprovalScreen

FRAMES_A_SECOND = 4


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    calls = [("read_file", {"path": "a.txt"}), ("bash", {"command": "touch done"})]
    with ModelServer([Reply("I look.", calls=calls), Reply("It is *well*."), Hang()]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        yield server


def running(app: CinchApp) -> list[float]:
    """How often in a second the app is woken, by each of its timers that is neither stopped nor paused."""
    nodes = [app, *app.screen_stack, *app.screen.walk_children()]
    timers = [timer for node in nodes for timer in node._timers]
    awake = [timer for timer in timers if timer._task and not timer._task.done() and timer._active.is_set()]
    return [1 / timer._interval for timer in awake]


async def test_no_timer_runs_when_a_run_is_over_and_the_spinner_alone_while_a_model_is_waited_for(
    tmp_path: Path, server: ModelServer
) -> None:
    (tmp_path / "a.txt").write_text("text\n", encoding="utf-8")
    app = chat(tmp_path, "--approve", "off")
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        screen = app.controller.view
        await until(pilot, lambda: not running(app))

        screen.send("look")
        await until(pilot, lambda: len(server.requests) == 2 and not app.controller.is_running)
        await until(pilot, lambda: not running(app))

        screen.send("and now?")
        await until(pilot, lambda: len(server.requests) == 3)
        await until(pilot, lambda: len(running(app)) == 1)

        assert running(app)[0] <= FRAMES_A_SECOND


async def test_nothing_is_painted_while_an_approval_is_awaited(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("text\n", encoding="utf-8")
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        app.controller.view.send("look")
        await until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.pause(0.5)
        painted: list[object] = []
        monkeypatch.setattr(app, "_display", lambda *given: painted.append(given))

        await pilot.pause(3 / FRAMES_A_SECOND)

        assert painted == []
