from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.recording_host import RecordingHost
from fakes.script import Hang, Item, Reply
from fakes.transcript_stage import Stage

from cinch_tui.app.app import CinchApp
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Invocation
from cinch_tui.transcript.blocks import ReplyBlock, SideQuestionBlock, UserBlock

MAY_GO_ON = threading.Event()


def answer(body: dict[str, Any]) -> Item:
    said = json.dumps(body["messages"][-1])
    if "endless" in said:
        return Hang(Reply(text="It is a long"), after_events=4)
    if "<aside>" in said:
        return Reply(text="In **till/receipt.py**.")
    MAY_GO_ON.wait(10)
    return Reply(text="The work is done.")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    MAY_GO_ON.clear()
    with ModelServer(answer) as server:
        yield server
        MAY_GO_ON.set()


@pytest.fixture
def app(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    return chat(tmp_path)


def side_questions(app: CinchApp) -> list[SideQuestionBlock]:
    return [block for block in app.controller.view.widgets.transcript.blocks if isinstance(block, SideQuestionBlock)]


async def test_a_side_question_is_answered_while_the_agent_works_and_kept_nowhere(app: CinchApp, own_home: Path):
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        app.controller.view.process_input("fix it")
        await until(pilot, lambda: app.controller.is_running)

        app.controller.view.process_input("/btw where was that?")
        await until(pilot, lambda: side_questions(app) and side_questions(app)[0].finished)
        was_running = app.controller.is_running
        MAY_GO_ON.set()
        await until(pilot, lambda: not app.controller.is_running)

        assert was_running
        assert side_questions(app)[0].answer == "In **till/receipt.py**."
        assert [message.text for message in app.controller.agent.history] == ["fix it", "The work is done."]
    kept = b"".join(path.read_bytes() for path in own_home.rglob("*.jsonl") if path.parent.parent.name == "projects")
    assert b"The work is done" in kept
    assert b"where was that" not in kept


async def test_escape_stops_the_answer_and_not_the_agent(app: CinchApp):
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, app)
        app.controller.view.process_input("fix it")
        await until(pilot, lambda: app.controller.is_running)
        app.controller.view.process_input("/btw an endless story")
        await until(pilot, lambda: side_questions(app) and side_questions(app)[0].answer)

        await pilot.press("escape")
        await until(pilot, lambda: side_questions(app)[0].finished)

        assert side_questions(app)[0].ending == "Stopped."
        assert app.controller.is_running
        MAY_GO_ON.set()


async def test_off_stops_the_answer_or_reports_that_none_is_running():
    host, command = RecordingHost(), builtin_commands().find("/btw")
    assert command is not None

    await builtin_commands().run(Invocation(command, "off"), host)
    await builtin_commands().run(Invocation(command, "why?"), host)
    await builtin_commands().run(Invocation(command, "off"), host)

    assert host.calls == [("answer_side_question", "why?")]
    assert host.notices == [("warning", "no side question is being answered")] * 2


def test_picture_of_a_side_question(snap_compare) -> None:
    block = SideQuestionBlock("Which file was that in?")
    block.append("In `till/receipt.py`:\n\n- the **total**\n- the discount, which is a percentage of what is left\n")
    block.finish()
    stopped = SideQuestionBlock("And why?")
    stopped.append("Because")
    stopped.finish("Stopped.")

    async def settled(pilot) -> None:
        await pilot.app.view.drained()
        await pilot.pause()

    stage = Stage(UserBlock("Fix it."), block, ReplyBlock("It is fixed."), stopped)
    assert snap_compare(stage, terminal_size=(60, 20), run_before=settled)
