from __future__ import annotations

import os
import signal
import stat

import pytest
from e2e.shell import PROMPT, SHELL, Shell, child_of, left_on
from e2e.terminal import CINCH
from fakes.script import Reply

pytestmark = pytest.mark.pty

KEEPER = '"$0" "$@"; echo status $?; exec sleep 1000'
EDITOR = """#!/bin/sh
trap '' HUP
echo "now editing"
read -r line
echo "edited: $line"
read -r line
"""


@pytest.fixture
def model_env(serve):
    server = serve([Reply("hello to you")])
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


@pytest.fixture
def shell(terminal, tmp_path, model_env):
    (tmp_path / "inputrc").write_text("set enable-bracketed-paste off\n")
    env = {"PS1": "user$ ", "INPUTRC": str(tmp_path / "inputrc"), "HISTFILE": ""}
    return Shell(terminal(program=SHELL, env={**model_env, **env}), tmp_path)


def stop(shell: Shell) -> None:
    shell.start()
    shell.screen.see("anthropic/claude")
    shell.screen.type("half a word\x1a")
    shell.screen.see("Stopped")


def test_suspend_restores_the_terminal(shell):
    stop(shell)

    assert shell.is_whole()
    assert shell.attributes() == shell.before


def test_resume_restores_its_keys_and_the_new_size(shell):
    stop(shell)
    shell.screen.resize(80, 20)
    shell.run("true")

    shell.screen.type("fg\r")

    shell.screen.see(r"(?m)^│ half a word {66}│$")
    shell.screen.enter("good morning")
    shell.screen.see("hello to you")


def test_kill_while_suspended_touches_nothing(shell):
    stop(shell)
    pid = shell.pid
    shell.run("true")
    before = shell.screen.raw

    os.kill(pid, signal.SIGKILL)
    shell.run("wait %1")

    assert shell.attributes() == shell.before
    assert b"\x1b[?1049l" not in shell.screen.raw.removeprefix(before)


def test_kill_after_resume_restores_the_terminal(shell):
    stop(shell)
    shell.screen.type("fg\r")
    shell.screen.written(b"\x1b[?1049h")
    shell.screen.see("anthropic/claude")
    shell.screen.settle()

    os.kill(shell.pid, signal.SIGKILL)

    shell.screen.until(shell.is_whole, "the terminal to be given back")
    shell.screen.see(PROMPT)
    assert shell.attributes() == shell.before


def test_kill_leaves_an_open_editor_alone(terminal, tmp_path, model_env):
    editor = tmp_path / "editor"
    editor.write_text(EDITOR)
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    # The parent has no job control: the editor stays in the foreground.
    screen = terminal(program=("sh", "-c", KEEPER, *CINCH), env={**model_env, "EDITOR": str(editor)})
    screen.see("anthropic/claude")
    screen.type("\x07")
    screen.see("now editing")
    before = screen.raw

    os.kill(child_of(screen.pid), signal.SIGKILL)

    screen.written(b"status 137")
    screen.type("some words\r")
    screen.written(b"edited: some words")
    assert b"\x1b[" not in screen.raw.removeprefix(before)


def test_redirected_stderr_is_not_the_screen(terminal, tmp_path, model_env):
    errors = tmp_path / "errors"
    screen = terminal(program=("sh", "-c", f'exec "$0" "$@" 2>{errors}', *CINCH), env=model_env)

    screen.see("anthropic/claude")
    os.kill(screen.pid, signal.SIGKILL)

    screen.until(lambda: left_on(screen.raw) == set(), "the terminal to be given back")
    assert errors.read_text() == ""


@pytest.mark.parametrize("pipeline", ['"$0" "$@" | cat', 'echo hello | "$0" "$@"'])
def test_pipeline_is_rejected_without_any_sequence(terminal, model_env, pipeline: str):
    screen = terminal(program=("bash", "-o", "pipefail", "-c", pipeline, *CINCH), env=model_env)

    assert screen.wait() == 2
    assert b"the app needs a terminal" in screen.raw
    assert b"\x1b" not in screen.raw
