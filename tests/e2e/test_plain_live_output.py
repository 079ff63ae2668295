from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.conftest import ROOT
from e2e.lines import Lines
from fakes.script import Reply

pytestmark = pytest.mark.pty

WAIT = "while [ ! -e go ]; do sleep 0.05; done"
COMMAND = f"echo early $((40+2)); {WAIT}; echo late $((50+3)); touch printed; {WAIT.replace('go', 'end')}"


@pytest.fixture
def cinch(project: Path, serve) -> Iterator[Callable[..., Lines]]:
    started: list[Lines] = []

    def start(command: str) -> Lines:
        server = serve([Reply(calls=[("bash", {"command": command})]), Reply("It has run.")])
        own = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-e2e-secret"}
        environ = {**os.environ, "PYTHONPATH": str(ROOT), **own}
        lines = Lines(project, environ, "--plain", "--approve", "off")
        started.append(lines)
        lines.see("You: ")
        return lines

    yield start
    for each in started:
        each.close()


def test_output_of_a_running_command_is_printed_live_and_only_once(cinch, project: Path):
    lines = cinch(COMMAND)
    lines.enter("go")
    lines.see("Output: early 42\r\n")

    (project / "go").touch()
    lines.see("Output: late 53\r\n")
    (project / "end").touch()
    result = lines.see("It has run")

    assert re.search(r"Result: bash echo [^\r\n]*: exit code 0, [^\r\n]*\r\nAssistant", result)
    assert lines.said.count("early 42") == lines.said.count("late 53") == 1


def test_output_does_not_mix_with_the_typed_line(cinch, project: Path):
    lines = cinch(COMMAND)
    lines.enter("go")
    lines.see("Output: early 42\r\n")

    lines.enter("")
    lines.see("steer> ")
    lines.type("half a ")
    (project / "go").touch()
    lines.wait_for(project / "printed")
    lines.enter("thought")
    typed = lines.see("Output: late 53\r\n")
    (project / "end").touch()
    lines.see("It has run")

    assert "half a thought\r\n" in typed


def test_user_command_prints_its_output_live(cinch, project: Path):
    lines = cinch("true")
    lines.enter(f"!{COMMAND}")
    lines.see("Output: early 42\r\n")

    (project / "go").touch()
    (project / "end").touch()
    rest = lines.see(r"\[exit code 0\]")

    assert "late 53" in rest
    assert "early 42" not in rest


def test_interrupted_command_is_reported_without_repeating_its_output(cinch, project: Path):
    lines = cinch(COMMAND)
    lines.enter("go")
    lines.see("Output: early 42\r\n")

    lines.interrupt()
    lines.see(r"Result: bash echo [^\r\n]*: interrupted, [^\r\n]*\r\n")
    lines.see("Stopped: ")

    assert lines.said.count("early 42") == 1
