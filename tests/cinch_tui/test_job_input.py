"""Background jobs in the app: input into their terminals, and runs that their end starts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, until
from fakes.model_server import ModelServer
from fakes.panels import area, lines, say
from fakes.script import Reply
from textual.widgets import Input, Static

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.job_terminal import JobTerminal
from harness.agent import job_wake
from harness.user_requests import AllowForSession, AllowOnce

PASSWORD = "stty -echo; printf 'Password: '; read p; stty echo; echo; echo ${#p}; read q; echo \"<$q>\"; sleep 300"


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CinchApp]]:
    servers: list[ModelServer] = []

    def make(*script: Reply) -> CinchApp:
        servers.append(ModelServer(list(script)).__enter__())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", servers[-1].url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
        (tmp_path / "project").mkdir(exist_ok=True)
        return chat(tmp_path / "project", "--approve", "off")

    yield make
    for server in servers:
        server.__exit__(None, None, None)


def is_open(app: CinchApp) -> bool:
    """Return True once the terminal of a job takes input."""
    return isinstance(app.screen, JobTerminal) and any(field.has_focus for field in app.screen.query(Input))


def blocks(app: CinchApp) -> str:
    return "\n".join(block.source for block in app.controller.view.widgets.transcript.blocks)


async def test_user_types_a_password_and_other_input_into_a_job(start, own_home: Path):
    app = start(Reply(calls=[("bash", {"command": PASSWORD, "pty": True})]), Reply("Type it."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: is_open(app))
        hidden = app.screen.query_one(Input).password
        await pilot.press(*"hunter2", "enter")
        await until(pilot, lambda: not isinstance(app.screen, JobTerminal))
        (job,) = app.controller.agent.jobs.running
        await until(pilot, lambda: job.spec.output.full_text().endswith("7\n"))

        await pilot.press("f10", "f10", "f9")
        await until(pilot, lambda: area(app) and lines(app) and lines(app)[0].startswith("● job-1"))
        await pilot.press("enter")
        await until(pilot, lambda: is_open(app))
        shown = app.screen.query_one(Input).password
        await pilot.press(*"abc", "enter")
        await until(pilot, lambda: "<abc>" in job.spec.output.full_text())
        await pilot.press("ctrl+c")
        await until(pilot, lambda: job.state != "running")
        await pilot.press("escape")

    files = [path.read_bytes() for path in own_home.rglob("*") if path.is_file()]
    assert (hidden, shown) == (True, False)
    assert "job-1" in blocks(app)
    assert "Password: Type it with /jobs input" in blocks(app)
    assert not [content for content in files if b"hunter2" in content]
    assert "hunter2" not in job.spec.output.full_text() + app.controller.agent.save_messages()


DRAWS = """
import curses
def main(window):
    while (key := curses.keyname(window.getch()).decode()) != "q":
        window.erase()
        window.addstr(0, 0, f"<{key}> {window.getmaxyx()}")
curses.wrapper(main)
"""


def drawn(app: CinchApp) -> str:
    """Return the first row that a program has drawn."""
    return str(app.screen.query_one("#screen", Static).render()).partition("\n")[0].strip()


def terminal_size(app: CinchApp) -> tuple[int, int]:
    """Return the rows and columns of the screen in the dialog."""
    size = app.screen.query_one("#screen").size
    return size.height, size.width


async def test_keys_go_to_a_program_that_draws_and_its_terminal_fits_the_dialog(start):
    app = start(Reply(calls=[("bash", {"command": f"{sys.executable} draws.py", "pty": True})]), Reply("It is open."))
    (app.controller.options.cwd / "draws.py").write_text(DRAWS)
    async with app.run_test(size=(60, 30)) as pilot:
        await say(pilot, app, "go", lambda: "It is open." in blocks(app) and not app.controller.is_running)
        (job,) = app.controller.agent.jobs.running
        assert job.spec.input
        app.push_screen(JobTerminal(job, job.spec.input))
        await until(pilot, lambda: app.screen.query("#screen:focus"))
        await until(pilot, lambda: drawn(app) == f"<KEY_RESIZE> {terminal_size(app)}")
        for key, name in (("up", "KEY_UP"), ("tab", "^I"), ("ctrl+d", "^D"), ("x", "x"), ("escape", "^[")):
            await pilot.press(key)
            await until(pilot, lambda name=name: drawn(app) == f"<{name}> {terminal_size(app)}")
        await pilot.press("ctrl+right_square_bracket")
        await until(pilot, lambda: not isinstance(app.screen, JobTerminal))
        app.push_screen(JobTerminal(job, job.spec.input))
        await until(pilot, lambda: app.screen.query("#screen:focus"))
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, JobTerminal))

    assert job.exit_code == 0


async def test_status_bar_shows_the_grant_for_a_job_until_it_ends(start):
    typed = Reply(calls=[("job_input", {"job_id": "job-1", "text": "hello"})])
    program = Reply(calls=[("bash", {"command": "echo ready; read x; echo got $x; read y", "pty": True})])
    app = start(program, typed, Reply("Typed."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "#approve smart", lambda: "Approval smart" in blocks(app))
        status = app.controller.view.widgets.status
        await say(pilot, app, "go", lambda: app.screen.query("ApprovalScreen #reason"))
        app.screen.answer(AllowOnce())
        await until(pilot, lambda: "job-1" in blocks(app) and app.screen.query("ApprovalScreen #reason"))
        app.screen.answer(AllowForSession())
        await until(pilot, lambda: "Typed." in blocks(app) and not app.controller.is_running)
        granted = status.status.allowed
        app.controller.agent.jobs.kill("job-1")
        await until(pilot, lambda: not app.controller.agent.jobs.running)
        await until(pilot, lambda: status.status.allowed == ())

    assert granted == ("job_input(job-1)",)


def waiting_for(name: str) -> Reply:
    command = f"until [ -e {name} ]; do sleep 0.01; done; echo three $((1 + 1)) one; exit 1"
    return Reply(calls=[("bash", {"command": command, "background": True})])


async def test_end_of_a_job_starts_a_run_a_few_times_in_a_row(start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_wake, "DELAY_S", 0.05)
    monkeypatch.setattr(job_wake, "MOST_IN_A_ROW", 1)
    monkeypatch.setenv("CINCH_TOOLS_BASH_WAKE_ON_EXIT", "true")
    app = start(waiting_for("first"), Reply("It runs."), waiting_for("second"), Reply("Again."))
    async with app.run_test(size=(100, 30)) as pilot:
        folder = app.controller.options.cwd
        await say(pilot, app, "go", lambda: "It runs." in blocks(app) and not app.controller.is_running)
        app.controller.view.prompt.restore("half typed")
        (folder / "first").touch()
        await until(pilot, lambda: "Again." in blocks(app) and not app.controller.is_running)
        (folder / "second").touch()
        await until(pilot, lambda: "so this one starts none" in blocks(app))

        assert blocks(app).count("job-1 ended with exit code 1") == 1
        assert blocks(app).count("three 2 one") == 2
        assert "[Background job-" not in blocks(app)
        assert app.controller.view.prompt.text == "half typed"


async def test_end_of_a_job_starts_no_run_by_default(start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job_wake, "DELAY_S", 0)
    app = start(waiting_for("go"), Reply("It runs."), Reply("Never."))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, app, "go", lambda: "It runs." in blocks(app) and not app.controller.is_running)
        (app.controller.options.cwd / "go").touch()
        await until(pilot, lambda: "ended with exit code 1" in blocks(app))
        await pilot.pause()

        assert not app.controller.is_running
        assert "[Background job-1" not in blocks(app)
