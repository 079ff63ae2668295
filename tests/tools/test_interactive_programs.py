from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.processes import running
from msgspec.structs import replace

from harness.errors import InvalidArguments
from harness.events import Event, JobInputRequested
from harness.jobs import Jobs
from harness.messages import JsonValue, Text
from harness.ports.tool import Tool, ToolOutput
from harness.views import TerminalView
from tools.bash import BashTool
from tools.job_input import JobInputTool
from tools.jobs import JobOutputTool
from tools.shell_options import ShellOptions

SLEEP = f"sleep 9753.{os.getpid()}"
"""Command that no other process of the machine runs."""
ASKS = "import getpass; print(len(getpass.getpass('Password: ')))"

DRAWS = """
import curses
def main(window):
    curses.curs_set(1)
    for number in range(3):
        key = curses.keyname(window.getch()).decode()
        window.addstr(number, 3, f"<{key}> {window.getmaxyx()}")
curses.wrapper(main)
"""
"""Full-screen program that shows the first three keys."""


class Terminals:
    """Tools for programs in terminals, as a model calls them."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Event] = []
        self.jobs = Jobs(self.events.append)
        self._context = replace(tool_context(folder), jobs=self.jobs)

    async def start(self, command: str, **arguments: JsonValue) -> str:
        return text_of(await self.call(BashTool(), command=command, **{"pty": True, **arguments}))

    async def type(self, text: str = "", **arguments: JsonValue) -> str:
        return text_of(await self.call(JobInputTool(), job_id="job-1", text=text, **arguments))

    async def output(self, wait_s: float = 10) -> str:
        return text_of(await self.call(JobOutputTool(), job_id="job-1", wait_s=wait_s))

    async def call(self, tool: Tool, **arguments: JsonValue) -> ToolOutput:
        return await tool.run(tool.validate(arguments), self._context)

    def type_as_user(self, line: str) -> None:
        job = self.jobs.find("job-1")
        assert job is not None
        assert job.spec.input is not None
        job.spec.input.type(f"{line}\r".encode())


@pytest.fixture
async def terminals(tmp_path: Path) -> AsyncIterator[Terminals]:
    found = Terminals(tmp_path)
    yield found
    await found.jobs.close()


def text_of(output: ToolOutput) -> str:
    return "\n".join(block.text for block in output.content if isinstance(block, Text))


async def test_program_is_typed_into_until_it_ends(terminals: Terminals) -> None:
    begun = await terminals.start(f"stty size; tty; {sys.executable} -q -i -c 'print(6)'")
    answered = await terminals.type("print(6 * 7)")
    ended = await terminals.type(keys=["ctrl-d"])

    assert begun.startswith("Running in a terminal in the background as job-1.")
    assert "24 80\n/dev/" in begun
    assert begun.endswith("6\n>>> \n[job_input types into it.]")
    assert answered.endswith(">>> print(6 * 7)\n42\n>>> ")
    assert "job-1" in ended
    assert "ended with exit code 0" in ended
    assert "nothing was typed" in await terminals.type("x")


async def test_full_screen_program_is_shown_as_its_screen(terminals: Terminals, tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(DRAWS)
    begun = await terminals.start(f"echo first; {sys.executable} draws.py; echo last")
    pressed = await terminals.type("a", keys=["Up"])
    ended = await terminals.type(keys=["F1"])

    assert begun.endswith("first\n[Screen; the cursor is at line 1, column 1]\n[job_input types into it.]")
    assert pressed.endswith("[Screen; the cursor is at line 2, column 21]\n   <a> (24, 80)\n   <KEY_UP> (24, 80)")
    assert ended.endswith("\nlast")
    assert "KEY_UP" not in ended


async def test_prompt_of_a_full_screen_dialog_for_a_passphrase_is_for_the_user(terminals: Terminals) -> None:
    dialog = "\\033[?1049h\\033[5;3HPassphrase: ______\\033[5;15H"
    text = "\\033[2J\\033[Hpassword: "
    begun = await terminals.start(
        f"stty raw -echo; printf '{dialog}'; head -c 2 >/dev/null; printf '{text}'; sleep 300"
    )
    refused = await terminals.type("x")
    terminals.type_as_user("x")
    output = await terminals.output()

    assert "Only the user may type it" in begun
    assert refused.startswith("Nothing was typed")
    assert "Only the user may type it" not in output


async def test_keys_interrupt_a_program_and_erase_text(terminals: Terminals) -> None:
    await terminals.start("trap 'echo caught' INT; echo ready; while read line; do echo \"<$line>\"; done")

    interrupted = await terminals.type(keys=["ctrl-c"])
    erased = await terminals.type("abX", keys=["backspace", "enter"])

    assert "caught" in interrupted
    assert erased.endswith("<ab>")


async def test_only_the_user_types_a_password_and_the_model_never_sees_it(terminals: Terminals) -> None:
    begun = await terminals.start(f'{sys.executable} -c "{ASKS}"')
    refused = await terminals.type("guess")
    terminals.type_as_user("hunter2")
    ended = await terminals.output()

    requests = [each for each in terminals.events if isinstance(each, JobInputRequested)]
    assert [(each.job_id, each.prompt) for each in requests] == [("job-1", "Password: ")]
    assert "Only the user may type it" in begun
    assert refused.startswith("Nothing was typed into job-1.")
    assert ended.splitlines()[0].startswith("job-1 (")
    assert ended.splitlines()[-1] == "7"
    assert not [text for text in (begun, refused, ended, repr(terminals.events)) if "hunter2" in text]


async def test_password_prompt_of_a_program_that_reads_keys_is_recognized(terminals: Terminals) -> None:
    begun = await terminals.start("stty raw -echo; printf 'npm password: '; head -c 3 >/dev/null; stty sane; echo")

    assert "Only the user may type it" in begun


async def test_password_asked_for_later_is_reported_once(terminals: Terminals) -> None:
    await terminals.start(f'read x; {sys.executable} -c "{ASKS}"')

    asked = await terminals.type("go")
    again = await terminals.output(0)

    assert "Only the user may type it" in asked
    assert "Only the user may type it" in again
    assert len([each for each in terminals.events if isinstance(each, JobInputRequested)]) == 1


async def test_program_that_ends_at_once_is_a_result(terminals: Terminals) -> None:
    assert await terminals.start("echo over; exit 3") == "Exit code: 3\nover"
    assert not terminals.jobs.all


async def test_command_without_terminal_takes_no_input(terminals: Terminals) -> None:
    await terminals.start("sleep 1000", pty=False, background=True)

    assert "no terminal" in await terminals.type("x")


async def test_unknown_keys_type_nothing(terminals: Terminals) -> None:
    await terminals.start("echo ready; cat")

    assert "There are no keys hyper" in await terminals.type("lost", keys=["hyper"])
    assert "lost" not in await terminals.output(0)


def test_text_of_any_length_is_rejected() -> None:
    with pytest.raises(InvalidArguments):
        JobInputTool().validate({"job_id": "job-1", "text": "x" * 5_000})


@pytest.mark.parametrize(
    ("text", "level"), [("ls", "execute"), ("print(1)", "execute"), ("rm -rf /", "forbidden"), ("sudo ls", "dangerous")]
)
def test_input_is_as_risky_as_a_command(text: str, level: str) -> None:
    tool = JobInputTool()

    assert tool.risk(tool.validate({"job_id": "job-1", "text": text})).level == level


async def test_timed_out_command_continues_as_a_job_that_can_be_awaited(terminals: Terminals, tmp_path: Path) -> None:
    command = "echo half; until [ -e go ]; do sleep 0.01; done; echo done"
    output = await terminals.call(BashTool(), command=command, timeout_s=0.2)
    begun, view = text_of(output), output.view
    (tmp_path / "go").touch()
    ended = await terminals.output()

    assert isinstance(view, TerminalView)
    assert (view.note, view.job_id) == ("continues as job-1 after 0.2 s", "job-1")
    assert begun.startswith("Still running after 0.2 s, so it now runs in the background as job-1. ")
    assert begun.endswith("Output so far:\nhalf")
    assert ended.endswith("ended with exit code 0 after 0 s.\ndone")


@pytest.mark.parametrize("on_timeout", ["kill", "background"])
async def test_no_process_of_a_timed_out_command_is_left(terminals: Terminals, on_timeout: str) -> None:
    command = f"{SLEEP} & {SLEEP}"
    tool = BashTool(options=ShellOptions("kill" if on_timeout == "kill" else "background"))

    output = await terminals.call(tool, command=command, timeout_s=0.2)
    left = running(SLEEP)
    await terminals.jobs.close()

    assert output.is_error is (on_timeout == "kill")
    assert bool(left) is (on_timeout == "background")
    assert running(SLEEP) == 0


async def test_no_process_in_a_terminal_is_left(terminals: Terminals) -> None:
    await terminals.start(f"setsid {SLEEP} & echo begun; {SLEEP}")
    begun = running(SLEEP)
    await terminals.jobs.close()

    assert begun
    assert running(SLEEP) == 0
