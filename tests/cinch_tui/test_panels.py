from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.panels import SLEEPER, area, calls, lines, say
from fakes.script import Reply
from textual.events import Key

from cinch_tui.app.app import CinchApp
from cinch_tui.app.exit_summary import stopped_jobs
from cinch_tui.cli.log import recent_records
from cinch_tui.screens.changes import ChangesScreen
from cinch_tui.screens.reader import Reader
from cinch_tui.transcript.tool_block import ToolBlock
from harness.views import TerminalView

KEY = "sk-ant-api03-" + "a1b2c3d4e5f6" * 4


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CinchApp]]:
    """Makes an app whose model plays these replies; what it may do needs no leave."""
    servers: list[ModelServer] = []

    def make(*script: Reply, approve: str = "off") -> CinchApp:
        servers.append(ModelServer(list(script)).__enter__())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", servers[-1].url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
        (tmp_path / "project").mkdir(exist_ok=True)
        return chat(tmp_path / "project", "--approve", approve)

    yield make
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    """A log of which the last records are kept, as since the start of the program."""
    kept = recent_records()
    yield logging.getLogger("cinch_tui.test")
    logging.getLogger().removeHandler(kept)


def bash(command: str, **more: object) -> tuple[str, dict[str, object]]:
    return "bash", {"command": command, **more}


async def test_the_chosen_call_is_cancelled_and_the_agent_continues(start):
    app = start(Reply(calls=[bash(SLEEPER)]), Reply("Then not."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: "begun" in calls(app))
        await pilot.press("f9")
        chosen = app.controller.view.widgets.tool_panel.has_focus
        await pilot.press("x")
        await until(pilot, lambda: not app.controller.is_running)

        blocks = app.controller.view.widgets.transcript.blocks
        assert chosen
        stopped = next(block for block in blocks if isinstance(block, ToolBlock))
        assert re.fullmatch(r"begun\n\[interrupted after \d\.\d s by the user\]", stopped.text)
        assert isinstance(stopped.view, TerminalView)
        assert stopped.view.output == "begun\n"
        assert blocks[-1].source.strip() == "Then not."
        assert app.controller.view.prompt.field.has_focus


async def test_a_running_command_goes_to_the_background_and_is_killed_in_its_panel(start):
    app = start(Reply(calls=[bash(SLEEPER)]), Reply("It runs."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: "begun" in calls(app))
        await pilot.press("f9", "b")
        await until(pilot, lambda: not app.controller.is_running)
        await say(pilot, app, "/jobs", lambda: lines(app))
        before = lines(app)
        await pilot.press("x")
        await until(pilot, lambda: "killed" in lines(app)[0])

        assert len(before) == 1
        assert before[0].startswith("● job-1 echo begun; sleep 300 · begun")
        assert not app.controller.agent.jobs.running


async def test_the_output_of_a_job_is_read_while_it_grows(start, tmp_path: Path):
    command = "echo first; seq 100000; until [ -e go ]; do sleep 0.01; done; echo second; sleep 300"
    app = start(Reply(calls=[bash(command, background=True)]), Reply("It runs."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: app.controller._assembly and app.controller.agent.jobs.running)
        await until(pilot, lambda: not app.controller.is_running)
        await say(pilot, app, "/jobs", lambda: lines(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader) and "first" in app.screen._shown)
        (tmp_path / "project" / "go").touch()
        await until(pilot, lambda: "second" in app.screen._shown)
        await pilot.press("escape", "escape")

        assert app.controller.view.prompt.field.has_focus


async def test_enter_shows_the_chosen_call_in_the_conversation(start):
    app = start(Reply(calls=[bash(SLEEPER)]), Reply("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: "begun" in calls(app))
        await pilot.press("f9", "enter")
        await pilot.pause()

        transcript = app.controller.view.widgets.transcript
        assert transcript.has_focus
        assert isinstance(transcript._selected, ToolBlock)
        assert transcript._selected.summary.startswith("echo begun")


async def test_changed_files_are_listed_as_they_change_and_enter_opens_the_diff_there(start, tmp_path: Path):
    write = [("write_file", {"path": name, "content": "one\ntwo\n"}) for name in ("a.txt", "b.txt")]
    app = start(Reply(calls=write), Reply("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "/changes", lambda: area(app))
        await until(pilot, lambda: lines(app) == ["No files changed in this session."])
        await pilot.press("escape")
        await say(pilot, app, "go", lambda: len(lines(app)) == 2)
        listed = lines(app)
        await until(pilot, lambda: not app.controller.is_running)
        await pilot.press("f9", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen) and app.screen._changes)
        await until(pilot, lambda: app.screen._current)

        assert listed == ["A a.txt +2 −0", "A b.txt +2 −0"]
        assert app.screen._current.shown == "b.txt"


async def test_a_subagent_is_shown_at_its_work_read_and_stopped(start):
    delegate = Reply(calls=[("delegate_subagent", {"task": "Look at all.", "name": "scout"})])
    app = start(delegate, Reply(calls=[bash(SLEEPER)]), Reply("stopped"))
    async with app.run_test(size=(120, 30)) as pilot:
        await say(pilot, app, "go", lambda: "begun" in str(app.controller.view.widgets.transcript.blocks) or calls(app))
        await say(pilot, app, "/agents", lambda: lines(app) and "Run command" in lines(app)[0])
        shown = lines(app)[0]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen._shown)
        story = app.screen._shown
        await pilot.press("escape")
        await pilot.press("x")
        await until(pilot, lambda: lines(app)[0].startswith("■ scout"))

        assert shown.startswith("● scout · Run command echo begun")
        assert "1 turn" in shown
        assert "> Look at all." in story
        assert "● Run command echo begun; sleep 300" in story


async def test_the_log_is_shown_from_a_level_on_without_control_sequences_and_keys(start, log: logging.Logger):
    app = start()
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        recent_records().emit(logging.LogRecord(log.name, logging.ERROR, "", 0, "%d of what", ("none",), None))
        log.warning("be careful \x1b[31mred %s", KEY)
        await say(pilot, app, "/logs", lambda: any("be careful" in line for line in lines(app)))
        line = next(line for line in lines(app) if "be careful" in line)
        await pilot.press("l", "l", "l")
        await until(pilot, lambda: not any("be careful" in line for line in lines(app)))

        assert "W be careful red sk-a…" in line
        assert KEY not in line
        assert any("%d of what" in line for line in lines(app))
        assert "\x1b" not in line


async def test_visible_panels_are_restored_at_the_next_start_and_hidden_ones_cost_nothing(start):
    app = start()
    file = app.controller.options.paths.panels_file
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        hidden = (area(app), app.controller.view.panels._panel, app.controller.view.panels._ticker)
        await say(pilot, app, "/panel todo", lambda: file.exists())
        await say(pilot, app, "/logs", lambda: json.loads(file.read_text())["beside"] == "logs")
    again = start()
    async with again.run_test(size=(100, 30)) as pilot:
        await ready(pilot, again)
        await until(pilot, lambda: area(again))
        closed = again.controller.view.widgets.todo_panel.has_class("-closed")
        await pilot.press("f9", "q")
        await until(pilot, lambda: area(again) is None)

        assert again.controller.view.panels._ticker is None
        assert again.controller.view.prompt.field.has_focus
    assert hidden == (None, None, None)
    assert closed


@pytest.mark.parametrize(("size", "beside"), [((80, 24), False), ((119, 30), False), ((120, 40), True)])
async def test_a_panel_is_next_to_the_conversation_where_there_is_room_and_never_takes_more_than_its_share(
    start, log: logging.Logger, size: tuple[int, int], beside: bool
):
    app = start()
    async with app.run_test(size=size) as pilot:
        await ready(pilot, app)
        for number in range(50):
            log.warning("line %d", number)
        await say(pilot, app, "/logs", lambda: len(lines(app)) >= 50)
        await pilot.pause()

        shown, transcript = area(app), app.controller.view.widgets.transcript
        assert shown is not None
        assert (shown.region.y == transcript.region.y) is beside
        if beside:
            assert shown.region.width < size[0] / 2
        else:
            assert shown.region.height <= size[1] // 3
        assert "line 49" in shown.render_line(shown.size.height - 1).text


async def test_f10_goes_through_all_panels_and_ends_with_none(start):
    app = start()
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        seen: list[str] = []
        for _ in range(5):
            await pilot.press("f10")
            await pilot.pause()
            seen.append(app.controller.view.panels.beside)

        assert seen == ["changes", "jobs", "agents", "logs", ""]
        assert app.controller.view.prompt.field.has_focus


async def test_a_letter_that_means_nothing_in_a_panel_continues_in_the_prompt(start):
    app = start()
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "/jobs", lambda: area(app) and area(app).has_focus)
        for key in ("h", "i", "q"):
            # As fast as a terminal sends what was typed ahead: nobody waits for the prompt to have the keys.
            area(app).post_message(Key(key, key))
        await until(pilot, lambda: app.controller.view.prompt.text == "hiq")

        assert area(app)


async def test_quitting_names_the_jobs_that_end(start):
    app = start(Reply(calls=[bash(SLEEPER, background=True)]), Reply("It runs."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: app.controller._assembly and app.controller.agent.jobs.running)
        await until(pilot, lambda: not app.controller.is_running)
        await pilot.press("ctrl+c")

        assert app.controller.view.widgets.status.status.note == "Ctrl+C again quits and stops 1 background job"
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert [toast.message for toast in app._notifications] == ["Ctrl+Q again quits and stops 1 background job."]
        assert not app._exit
        app.controller.view.process_input("/quit")
        await until(pilot, lambda: app._exit)
    assert not app.controller.agent.jobs.running
    assert stopped_jobs(app.controller.assembly) == f"Stopped 1 background job: {SLEEPER}"


async def test_the_titles_count_what_runs_whichever_panel_is_shown(start, tmp_path: Path):
    waits = "until [ -e over ]; do sleep 0.01; done"
    app = start(Reply(calls=[bash(waits, background=True)]), Reply("It runs."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "/changes", lambda: area(app))
        await pilot.press("escape")
        await say(pilot, app, "go", lambda: "Jobs 1" in area(app).border_title)
        (tmp_path / "project" / "over").touch()
        await until(pilot, lambda: "Jobs 1" not in area(app).border_title)

        assert "Jobs" in area(app).border_title
