from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from fakes.script import Failure, Reply
from fakes.talk import reply, tell

from cinch_tui.config.paths import find_paths
from harness.messages import new_id, user
from harness.session.recorder import SessionRecorder

MODULES = (
    "import sys; from cinch_tui.cli.main import main; status = main({argv!r}); print(*sys.modules, file=sys.stderr)"
)


@pytest.fixture
def piped(project: Path, serve) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run plain mode with this text as its input."""

    def run(text: str, script, *args: str, command: tuple[str, ...] = ("-m", "cinch_tui")):
        run.server = server = serve(script)
        own = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret", "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [sys.executable, *command, *args],
            input=text,
            cwd=project,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


WRITE = Reply(calls=[("write_file", {"path": "made.txt", "content": "made\n"})])


def test_piped_lines_are_prompts_answered_in_order(piped, project: Path):
    done = piped("make it\nmaybe\ny\nand then?\n", [WRITE, Reply(text="Made."), Reply(text="Nothing.")], "--plain")

    assert (project / "made.txt").read_text() == "made\n"
    assert done.returncode == 0
    assert done.stderr == ""
    assert "You: make it\n" in done.stdout
    assert "Answer (y, s, a, n, d, x): maybe\nNotice: Type one of y, s, a, n, d, x," in done.stdout
    assert "Assistant: Nothing.\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_approvals_are_denied_after_the_end_of_input(piped, project: Path):
    done = piped("", [WRITE, Reply(text="Then not.")], "--plain", "make it")

    assert not (project / "made.txt").exists()
    assert "Assistant: Then not." in done.stdout
    assert done.returncode == 4


def test_failed_run_is_reported_and_sets_the_exit_status(piped):
    done = piped("hello\n", [Failure(401)], "--plain")

    assert "Error: " in done.stdout
    assert done.returncode == 1


def test_long_session_is_resumed_at_a_message_and_sent_completely(piped, project: Path):
    long = "A line of a long reply.\n" * 1_000
    store = SessionRecorder(find_paths(os.environ).data, project, new_id())
    for number in range(20):
        tell(store, user(f"prompt {number}"), reply(f"{long}end of reply {number}"))
    store.close()

    done = piped("go on\n", [Reply(text="Fine.")], "--plain", "-r", f"{store.path.stem}@4")

    assert f"Session {store.path.stem} resumed after 20 prompts." in done.stdout
    assert "Reply of 20" in done.stdout
    assert done.stdout.index("end of reply 1\n") < done.stdout.index("Your last prompt: prompt 19")
    assert done.stdout.index("end of reply 19\n") < done.stdout.index("Assistant: Fine.")
    assert str(piped.server.requests[-1].body["messages"]).count("A line of a long reply.") == 20 * 1_000


def test_missing_session_is_rejected(piped):
    done = piped("hello\n", [], "--plain", "-r", "nowhere")

    assert done.returncode == 2
    assert done.stderr.startswith("cinch: ")


def test_plain_and_print_are_mutually_exclusive(piped):
    done = piped("", [], "--plain", "-p", "hello")

    assert done.returncode == 2
    assert "cannot be combined" in done.stderr


def test_setting_equals_the_flag(piped, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CINCH_UI_PLAIN", "true")

    done = piped("hello\n", [Reply(text="Hi.")])

    assert "Assistant: Hi." in done.stdout


def test_no_control_sequence_of_a_model_reaches_the_terminal(piped):
    done = piped("hello\n", [Reply(text="\x1b[31mred\x1b]0;title\x07 text")], "--plain")

    assert "red" in done.stdout
    assert "\x1b" not in done.stdout


def test_no_screen_is_loaded(piped):
    code = MODULES.format(argv=["--plain"])

    done = piped("hello\n", [Reply(text="Hi.")], command=("-c", code))

    loaded = set(done.stderr.split())
    assert "cinch_tui.plain.line_app" in loaded
    assert loaded.isdisjoint({"textual", "rich"})


def test_job_is_listed_and_killed_by_its_id(piped):
    sleeper = Reply(calls=[("bash", {"command": "sleep 300", "background": True})])
    reported = piped(
        "go\n/jobs kill job-7\n/jobs kill job-1\n/jobs\n",
        [sleeper, Reply(text="It runs.")],
        "--plain",
        "--approve",
        "off",
    ).stdout

    assert "Error: no job 'job-7' is running; these are: job-1" in reported
    assert "job-1: sleep 300: " in reported.rpartition("Jobs:")[2]
    assert "Stopped 1 background job" not in reported
