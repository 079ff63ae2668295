from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.panels import area, say
from fakes.prompt_app import type_text
from fakes.script import Hang, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp

STEPS = [{"content": f"step {number} of 60", "status": "pending"} for number in range(60)]
LEAST = 2
"""Lines of the conversation that are always to be seen."""


@asynccontextmanager
async def crowded(
    root: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> AsyncIterator[tuple[CinchApp, Pilot[object]]]:
    """All that can stand around the conversation does: a panel, steps, what waits, and a prompt of many lines."""
    with ModelServer([Reply(calls=[("todo", {"todos": STEPS})]), Hang()]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        app = chat(root)
        async with app.run_test(size=size) as pilot:
            await ready(pilot, app)
            await say(pilot, app, "begin", lambda: len(server.requests) == 2)
            for number in range(6):
                await type_text(pilot, f"next {number}")
                await pilot.press("enter")
            await until(pilot, lambda: len(app.controller.view.widgets.queue.rows) == 6)
            app.controller.view.panels.turn_to("logs")
            await until(pilot, lambda: area(app))
            app.controller.view.prompt.restore("\n".join(f"line {number}" for number in range(12)))
            await pilot.pause()
            yield app, pilot


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_surrounding_widgets_leave_room_for_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    async with crowded(tmp_path, monkeypatch, size) as (app, _):
        screen, widgets = app.controller.view, app.controller.view.widgets

        assert widgets.todo_panel.region.height >= 1
        assert widgets.queue.region.height >= 1
        assert widgets.transcript.region.height >= LEAST
        assert widgets.status.region.bottom == size[1]
        assert screen.prompt.field.region.bottom < size[1]
        assert screen.max_scroll_y == 0


async def test_a_panel_on_a_small_screen_takes_its_room_only_while_it_has_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with crowded(tmp_path, monkeypatch, (40, 10)) as (app, pilot):
        panel, transcript = area(app), app.controller.view.widgets.transcript
        assert panel is not None
        hidden = panel.region.height
        app.controller.view.prompt.take()
        await pilot.pause()
        closed = panel.region.height
        await pilot.press("f9")
        await until(pilot, lambda: panel.has_focus)
        await pilot.pause()
        entered = panel.region.height
        await pilot.press("escape")
        await pilot.pause()

        assert (hidden, closed) == (0, 1)
        assert entered >= 3
        assert panel.region.height == 1
        assert transcript.region.height >= LEAST


async def test_queued_messages_without_room_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with crowded(tmp_path, monkeypatch, (80, 24)) as (app, pilot):
        queue = app.controller.view.widgets.queue
        four = str(queue.render())
        await pilot.resize_terminal(40, 10)
        await pilot.pause()

        assert four.splitlines()[-1].split() == ["↳", "next:", "next", "3", "+2", "more"]
        assert str(queue.render()).split() == ["↳", "next:", "next", "0", "+5", "more"]
