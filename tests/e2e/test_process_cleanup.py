"""No process of a tool outlives cinch, however cinch ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from e2e.lines import Lines
from fakes.processes import is_alive
from fakes.script import Reply

pytestmark = pytest.mark.pty

ENDS = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGKILL]
ESCAPED = "env -i setsid sh -c 'sh -c \"echo \\$\\$ > pid1; exec sleep 300\" &'"
COMMAND = f"ulimit -c 0; sleep 300 & echo $! > pid0; {ESCAPED}; echo begun; sleep 300"


@pytest.fixture
def pids(project: Path) -> Iterator[Callable[[], list[int]]]:
    def written() -> list[int]:
        return [int(text) for file in project.glob("pid*") if (text := file.read_text().strip())]

    yield written
    for pid in written():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def model_env(serve) -> dict[str, str]:
    server = serve([Reply("I start it.", calls=[("bash", {"command": COMMAND})])])
    return {**os.environ, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check_all_end(pids: Callable[[], list[int]], kill: Callable[[], object]) -> None:
    until(lambda: len(pids()) == 2)
    assert all(map(is_alive, pids()))

    kill()

    until(lambda: not any(map(is_alive, pids())))


@pytest.mark.parametrize("number", ENDS)
def test_no_process_survives_print_mode(project: Path, model_env, pids, number: int):
    argv = [sys.executable, "-m", "cinch_tui", "-p", "--approve", "off", "-m", "anthropic/fake-model", "go"]
    with subprocess.Popen(
        argv, cwd=project, env=model_env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        check_all_end(pids, lambda: process.send_signal(number))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL])
def test_no_process_survives_the_app(terminal, model_env, pids, number: int):
    app = terminal("--approve", "off", env=model_env)
    app.see("Ask for a change")
    app.enter("go")
    app.see("begun")

    check_all_end(pids, lambda: os.kill(app.pid, number))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGKILL])
def test_no_process_survives_plain_mode(project: Path, model_env, pids, number: signal.Signals):
    lines = Lines(project, model_env, "--plain", "--approve", "off")
    try:
        lines.see("You: ")
        lines.enter("go")

        check_all_end(pids, lambda: lines.kill(number))
    finally:
        lines.close()
