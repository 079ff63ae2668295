from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from e2e.sabotage import sabotaged
from e2e.shell import SHELL, Shell, child_of, left_on
from e2e.terminal import Terminal
from fakes.model_server import ModelServer
from fakes.script import Reply, Script

from cinch_tui.terminal.first_frame import ENTER

pytestmark = pytest.mark.pty

StartTerminal: TypeAlias = Callable[..., Terminal]
StartShell: TypeAlias = Callable[..., Shell]
UNHANDLED = [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT]
WAITS = "import time; time.sleep(1000)"
WAY_BACK = "Resume this session: cinch -r [0-9a-f-]{36}"


@pytest.fixture
def model_env(serve: Callable[[Script], ModelServer]) -> dict[str, str]:
    server = serve([Reply("hello to you")])
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


@pytest.fixture
def shell(terminal: StartTerminal, tmp_path: Path, model_env: dict[str, str]) -> StartShell:
    # readline enables bracketed paste too, if configured.
    (tmp_path / "inputrc").write_text("set enable-bracketed-paste off\n")

    def start(**env: str) -> Shell:
        own = {"PS1": "user$ ", "INPUTRC": str(tmp_path / "inputrc"), "HISTFILE": ""}
        screen = terminal(program=SHELL, env={**model_env, **own, **env})
        shell = Shell(screen, tmp_path)
        shell.run("ulimit -c 0")
        return shell

    return start


def talk(shell: Shell) -> None:
    shell.start()
    shell.screen.see("anthropic/claude")
    shell.screen.enter("good morning")
    shell.screen.see("hello to you")


@pytest.mark.parametrize("number", UNHANDLED)
def test_sigkill_leaves_the_shell_a_working_terminal(shell: StartShell, number: int):
    used = shell()
    talk(used)

    os.kill(used.pid, number)

    used.screen.see(WAY_BACK)
    assert used.run("echo $?") == f"{128 + number}\n"
    assert used.is_whole()
    assert used.attributes() == used.before
    used.screen.type("echo all is $((6 * 7)) well\r")
    used.screen.see("all is 42 well")
    assert b"user$ " in used.screen.raw.rpartition(b"\x1b[?1049l")[2]


def test_kill_before_any_message_leaves_nothing_to_continue(shell: StartShell):
    used = shell()
    used.start()
    used.screen.see("anthropic/claude")

    os.kill(used.pid, signal.SIGKILL)

    used.screen.until(used.is_whole, "the terminal to be given back")
    assert used.attributes() == used.before
    assert "cinch -r" not in used.screen.text


def test_internal_exit_restores_the_terminal(terminal: StartTerminal, tmp_path: Path, model_env: dict[str, str]):
    by = "import os; os._exit(9)"
    screen = terminal(env={**model_env, **sabotaged(tmp_path, "cinch_tui.reports.usage - usage_report", by)})
    before = screen.attributes
    screen.see("anthropic/claude")

    screen.type("/usage\r")

    screen.until(lambda: left_on(screen.raw) == set(), "the terminal to be given back")
    screen.until(lambda: screen.attributes == before, "its attributes to be as before")
    assert screen.wait() == 9


@pytest.mark.parametrize(
    ("number", "by"),
    [
        (signal.SIGTERM, "time.sleep(1000)"),
        (signal.SIGTERM, "while True: pass"),
        (signal.SIGHUP, "time.sleep(1000)"),
        (signal.SIGINT, "while True: pass"),
    ],
)
def test_kill_works_while_the_app_is_blocked(
    terminal: StartTerminal, tmp_path: Path, model_env: dict[str, str], number: int, by: str
):
    sign = tmp_path / "stands-still"
    by = f"import pathlib, time; pathlib.Path({str(sign)!r}).touch()\n{by}"
    screen = terminal(env={**model_env, **sabotaged(tmp_path, "cinch_tui.reports.usage - usage_report", by)})
    before = screen.attributes
    screen.see("anthropic/claude")
    screen.type("/usage\r")
    screen.until(sign.exists, "the app to stand still")

    os.kill(screen.pid, number)

    screen.until(lambda: left_on(screen.raw) == set(), "the terminal to be given back")
    screen.until(lambda: screen.attributes == before, "its attributes to be as before")
    assert screen.wait() == 128 + number


@pytest.mark.parametrize("by", ["raise MemoryError", "def deep(): deep()\n    deep()"])
def test_crash_leaves_a_report_and_restores_the_terminal(
    terminal: StartTerminal, tmp_path: Path, own_home: Path, model_env: dict[str, str], by: str
):
    screen = terminal(
        env={**model_env, **sabotaged(tmp_path, "cinch_tui.controller.prompt_sender PromptSender run", by)}
    )
    before = screen.attributes
    screen.see("anthropic/claude")

    screen.type("hello\r")

    screen.written(b"Crash report:")
    after = screen.attributes
    assert screen.wait() == 1
    assert left_on(screen.raw) == set()
    assert after == before
    assert list((own_home / "cinch" / "state").glob("crash-*.txt"))


def test_error_in_a_thread_is_logged_and_the_app_continues(
    terminal: StartTerminal, tmp_path: Path, own_home: Path, model_env: dict[str, str]
):
    by = "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"
    screen = terminal(env={**model_env, **sabotaged(tmp_path, "cinch_tui.reports.usage - usage_report", by)})
    screen.see("anthropic/claude")

    screen.type("/usage\r")

    screen.see("it was sabotaged")
    screen.enter("good morning")
    screen.see("hello to you")
    assert "ZeroDivisionError" in (own_home / "cinch" / "state" / "cinch.log").read_text()
    assert b"ZeroDivisionError" not in screen.raw


def test_kill_during_the_first_frame_restores_the_terminal(shell: StartShell, own_home: Path, tmp_path: Path):
    pictures = own_home / "cinch" / "state" / "first-frame"
    before = shell()
    before.start()
    before.screen.until(lambda: list(pictures.glob("[!.]*")), "a picture to be kept")
    os.kill(before.pid, signal.SIGKILL)
    now = shell(**sabotaged(tmp_path, "cinch_tui.cli.main - main", WAITS))
    now.start()
    assert ENTER in now.screen.raw

    os.kill(now.pid, signal.SIGKILL)

    now.screen.until(now.is_whole, "the terminal to be given back")
    assert now.attributes() == now.before


def test_kill_of_its_shell_ends_it_with_a_complete_session(shell: StartShell, own_home: Path):
    outer = shell()
    outer.screen.enter(f"{SHELL[0]} --noprofile --norc -i")
    talk(outer)
    inner = child_of(outer.screen.pid)
    cinch = child_of(inner)

    os.kill(inner, signal.SIGKILL)
    outer.screen.written(b"Killed")

    outer.screen.until(lambda: not Path(f"/proc/{cinch}").exists(), "cinch to end")
    outer.screen.until(outer.is_whole, "the terminal to be given back")
    assert outer.attributes() == outer.before
    assert not list((own_home / "cinch" / "data").rglob("*.lock"))
    assert not list(own_home.rglob("crash-*"))


def test_second_kill_ends_it_at_once(terminal: StartTerminal, tmp_path: Path, model_env: dict[str, str]):
    sign = tmp_path / "stands-still"
    by = f"import pathlib, time; pathlib.Path({str(sign)!r}).touch()\ntime.sleep(1000)"
    screen = terminal(env={**model_env, **sabotaged(tmp_path, "cinch_tui.reports.usage - usage_report", by)})
    screen.see("anthropic/claude")
    screen.type("/usage\r")
    screen.until(sign.exists, "the app to stand still")

    os.kill(screen.pid, signal.SIGTERM)
    screen.settle()
    os.kill(screen.pid, signal.SIGHUP)

    assert screen.wait() in (128 + signal.SIGHUP, 128 + signal.SIGTERM)
    assert left_on(screen.raw) == set()


def test_closed_terminal_ends_a_blocked_app(terminal: StartTerminal, tmp_path: Path, model_env: dict[str, str]):
    sign = tmp_path / "stands-still"
    by = f"import pathlib, time; pathlib.Path({str(sign)!r}).touch()\ntime.sleep(1000)"
    screen = terminal(env={**model_env, **sabotaged(tmp_path, "cinch_tui.reports.usage - usage_report", by)})
    screen.see("anthropic/claude")
    screen.type("/usage\r")
    screen.until(sign.exists, "the app to stand still")

    assert screen.hang_up()
