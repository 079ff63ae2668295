from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.prompt_app import PromptApp, type_text
from fakes.script import Hang, Reply
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.shell_line import ShellLine, report_message, shell_line
from cinch_tui.transcript.history_blocks import blocks_of
from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.widgets.prompt.input import PromptInput


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([Reply(text="I see."), Hang()]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
        yield server


def ran(app: CinchApp) -> list[ToolBlock]:
    return [block for block in app.controller.view.widgets.transcript.blocks if isinstance(block, ToolBlock)]


async def enter(pilot: Pilot[object], app: CinchApp, text: str) -> None:
    app.controller.view.prompt.text = text
    await pilot.press("enter")


def sent_texts(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].body["messages"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("!ls -l", ShellLine("ls -l", is_private=False)),
        ("!! ls", ShellLine("ls", is_private=True)),
        ("!", None),
        (" !ls", None),
        ("ls!", None),
    ],
)
def test_line_that_starts_with_a_bang_is_a_command(text: str, line: ShellLine | None):
    assert shell_line(text) == line


async def test_command_runs_in_the_project_and_the_model_receives_it_with_the_next_prompt(
    server: ModelServer, tmp_path: Path
):
    app = chat(tmp_path, "--plan")
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "!echo made > here; echo printed; exit 3")
        await until(pilot, lambda: ran(app) and ran(app)[0].status == "done")
        asked = len(server.requests)
        await enter(pilot, app, "why?")
        await until(pilot, lambda: server.requests and not app.controller.is_running)
        await enter(pilot, app, "again")
        await until(pilot, lambda: len(server.requests) == 2)

        assert (tmp_path / "here").read_text() == "made\n"
        assert asked == 0
        assert sent_texts(server).count("Exit code: 3\\nprinted") == 1
        assert len(ran(app)) == 1
        app.controller.abort()


async def test_model_receives_the_output_of_a_user_command_with_its_indentation(server: ModelServer, tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "!printf '    def f():\\n\\n        pass\\n'")
        await until(pilot, lambda: ran(app) and ran(app)[0].status == "done")
        await enter(pilot, app, "why?")
        await until(pilot, lambda: server.requests)

        assert json.dumps("Exit code: 0\n    def f():\n\n        pass")[1:-1] in sent_texts(server)
        app.controller.abort()


async def test_background_process_of_a_user_command_survives_cinch(server: ModelServer, tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "!sleep 300 > /dev/null 2>&1 & echo $! > pid")
        await until(pilot, lambda: ran(app) and ran(app)[0].status == "done")
    pid = int((tmp_path / "pid").read_text())
    limits = Path(f"/proc/{pid}/limits").read_text()
    os.kill(pid, signal.SIGKILL)

    timeout = next(line for line in limits.splitlines() if line.startswith("Max realtime timeout"))
    assert "unlimited" in timeout.split()[3]


async def test_command_with_two_bangs_is_not_reported(server: ModelServer, tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "!!echo between us")
        await until(pilot, lambda: ran(app) and ran(app)[0].status == "done")
        await enter(pilot, app, "hello")
        await until(pilot, lambda: server.requests)

        assert "between us" in ran(app)[0].text
        assert "between us" not in sent_texts(server)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_key_stops_the_command_and_what_it_printed_stays(server: ModelServer, tmp_path: Path, key: str):
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "!echo begun; sleep 60; echo over > over")
        await until(pilot, lambda: ran(app) and "begun" in ran(app)[0].source)
        field = app.controller.view.prompt.query_one(PromptInput)
        reported = str(field.placeholder)
        await pilot.press(key)
        await until(pilot, lambda: ran(app)[0].status == "failed")
        await until(pilot, lambda: str(field.placeholder).startswith("Ask"))

        assert reported.startswith("Esc stops your command · Ask")
        assert "begun" in ran(app)[0].text
        assert not (tmp_path / "over").exists()


async def test_command_runs_while_the_agent_works_and_is_no_follow_up(server: ModelServer, tmp_path: Path):
    app = chat(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await enter(pilot, app, "one")
        await until(pilot, lambda: server.requests and not app.controller.is_running)
        await enter(pilot, app, "two")
        await until(pilot, lambda: app.controller.is_running)
        app.controller.view.prompt.text = "!echo meanwhile"
        await pilot.press("alt+enter")
        await until(pilot, lambda: ran(app) and ran(app)[0].status == "done")

        assert app.controller.is_running
        assert not app.controller.agent.inbox.follow_up
        app.controller.abort()


def test_report_of_an_earlier_session_is_shown_as_what_the_user_ran():
    [block] = blocks_of([report_message("ls -l", "Exit code: 0\na.txt")], [])

    assert isinstance(block, ToolBlock)
    assert block.headline == "You ran ls -l"


async def test_draft_that_is_a_command_shows_it_in_the_frame(tmp_path: Path):
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "!ls")
        shown = (app.prompt.has_class("-shell"), "shell command" in str(app.input.border_subtitle))
        await pilot.press("enter")
        await pilot.pause()

        assert shown == (True, True)
        assert (app.prompt.has_class("-shell"), app.input.border_subtitle) == (False, "")


async def test_tab_completes_paths_of_a_command_and_enter_runs_what_is_typed(tmp_path: Path):
    for name in ("alpha one.txt", "alpine.txt", "beta"):
        (tmp_path / name).write_text("")
    app = PromptApp(tmp_path)
    async with app.run_test() as pilot:
        await type_text(pilot, "!cat be")
        await pilot.press("tab")
        only = app.prompt.text
        await type_text(pilot, "al")
        await pilot.press("tab")
        several = [candidate.text for candidate in app.popup.completion.candidates] if app.popup.completion else []
        await pilot.press("tab")
        taken = app.prompt.text
        await pilot.press("enter")

        assert only == "!cat beta "
        assert several == ["alpha\\ one.txt", "alpine.txt"]
        assert taken == "!cat beta alpha\\ one.txt "
        assert app.sent == [taken]
