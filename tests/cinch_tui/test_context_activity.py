from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Item, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.transcript.blocks import NoticeBlock, SummaryBlock
from cinch_tui.widgets.status_bar import ContextGauge
from harness.messages import AssistantMessage, Message, Text, user

MAY_END = threading.Event()


def answer(body: dict[str, Any]) -> Item:
    if "Write the text now" not in json.dumps(body["messages"][-1]):
        return Reply(text="Understood.")
    MAY_END.wait(10)
    return Reply(text="**Goal**: fix the parser. Next: run the tests.")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    MAY_END.clear()
    with ModelServer(answer) as server:
        yield server
        MAY_END.set()


@pytest.fixture
def app(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    return chat(tmp_path)


def conversation() -> list[Message]:
    turns = ((user(f"Request {n}: {'details ' * 900}"), AssistantMessage((Text(f"Answer {n}."),))) for n in range(12))
    return [message for turn in turns for message in turn]


async def summarizing(pilot: Pilot[object], app: CinchApp) -> None:
    """Begin `/compact` in a long conversation, and wait until the model is asked."""
    await ready(pilot, app)
    app.controller.agent.new_session(messages=conversation())
    app.controller.view.process_input("/compact")
    await until(pilot, lambda: app.controller.view.prompt.activity)


def frame(app: CinchApp) -> str:
    return str(app.controller.view.prompt.field.placeholder)


async def test_prompt_frame_says_that_a_summary_is_made_and_how_to_stop_it(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await summarizing(pilot, app)
        meanwhile = (frame(app), app.controller.view.prompt.has_class("-running"))
        MAY_END.set()
        await until(pilot, lambda: not app.controller.is_running)

        assert meanwhile == ("Summarizing older messages · Enter queues · Esc stops", True)
        assert frame(app).startswith("Ask for a change")


async def test_escape_stops_a_summary_and_returns_what_was_queued(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await summarizing(pilot, app)
        before = app.controller.agent.context_messages
        await pilot.press(*"and", "enter")
        await until(pilot, lambda: app.controller.view.widgets.queue.rows)
        shown = (frame(app), "sends it now" in str(app.controller.view.widgets.queue.render()))
        await pilot.press("escape")
        await until(pilot, lambda: not app.controller.is_running)

        notices = [each.text for each in app.controller.view.widgets.transcript.blocks if isinstance(each, NoticeBlock)]
        assert shown == ("Summarizing older messages · ↑ takes them back · Esc stops", False)
        assert app.controller.view.prompt.text == "and"
        assert app.controller.agent.context_messages == before
        assert "Stopped. The context is unchanged." in notices


async def test_gauge_falls_with_a_summary_and_rises_with_its_undo(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        gauge = app.controller.view.widgets.status.query_one(ContextGauge)
        app.controller.agent.new_session(messages=conversation())
        app.controller.view.process_input("go on")
        await until(pilot, lambda: app.controller.agent.state.context.report and not app.controller.is_running)
        full = app.controller.context_tokens
        MAY_END.set()
        app.controller.view.process_input("/compact")
        transcript = app.controller.view.widgets.transcript
        await until(pilot, lambda: any(isinstance(each, SummaryBlock) for each in transcript.blocks))
        compacted, percent = app.controller.context_tokens, gauge.percent
        app.controller.view.process_input("/compact undo")
        await until(pilot, lambda: app.controller.context_tokens > compacted)

        assert compacted < full / 2
        assert percent == round(100 * compacted / app.controller.context_window)
        assert app.controller.context_tokens == full
