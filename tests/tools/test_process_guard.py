from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.processes import is_alive

from tools.process_guard import ProcessGuard, tagged_pids, tags_are_supported
from tools.shell_command import ShellCommand, run_command

ENDS = [signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGHUP, signal.SIGKILL]
ESCAPED = 'env -i setsid sh -c \'trap "" TERM; sh -c "echo \\$\\$ > pid{0}; exec sleep 300" &\''
LEADER = "sleep 300 & echo $! > pid{0}"

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from tools import process_guard
from tools.shell_command import ShellCommand, run_command

async def main():
    for text, is_users in {commands!r}:
        command = ShellCommand(text, Path.cwd(), os.environ, is_users=is_users)
        await run_command(command, lambda data: Path("read").touch())

if {without_tags}:
    process_guard.tags_are_supported = lambda: False
asyncio.run(main())
Path("done").touch()
{ending}
"""

needs_tags = pytest.mark.skipif(not tags_are_supported(), reason="only Linux shows the limits of processes")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    program.close()


class Program:
    """A program that runs commands with our tools, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(
        self, *commands: tuple[str, bool], ending: str = "import time; time.sleep(300)", without_tags: bool = False
    ) -> None:
        text = PROGRAM.format(commands=commands, ending=ending, without_tags=without_tags)
        path = os.pathsep.join([str(Path(__file__).parents[2])])
        self._process = subprocess.Popen(
            [sys.executable, "-c", text], cwd=self.folder, env={**os.environ, "PYTHONPATH": path}
        )

    def end(self, number: int = 0) -> None:
        assert self._process is not None
        if number:
            self._process.send_signal(number)
        self._process.wait(20)

    def pids(self, count: int) -> list[int]:
        until(lambda: len(self._written()) == count)
        return self._written()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for pid in self._written():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _written(self) -> list[int]:
        return [int(text) for file in sorted(self.folder.glob("pid*")) if (text := file.read_text().strip())]


def until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@needs_tags
@pytest.mark.parametrize("number", ENDS)
def test_no_process_of_a_command_survives_the_end_of_the_program(program: Program, number: int):
    program.start((f"{LEADER.format(0)}; {ESCAPED.format(1)}; sleep 300", False))
    pids = program.pids(2)

    program.end(number)

    until(lambda: not any(map(is_alive, pids)))


@needs_tags
def test_processes_that_a_finished_command_left_running_end_with_the_program(program: Program):
    program.start((f"{LEADER.format(0)}; {ESCAPED.format(1)}", False), ending="")
    pids = program.pids(2)

    program.end()

    until(lambda: not any(map(is_alive, pids)))


@needs_tags
def test_processes_that_a_command_of_the_user_left_running_outlive_the_program(program: Program):
    program.start((f"{LEADER.format(0)}; {ESCAPED.format(1)}", True), (LEADER.format(2), False), ending="")
    *kept, ended = program.pids(3)

    program.end()

    until(lambda: not is_alive(ended))
    assert all(map(is_alive, kept))


def test_group_of_a_running_command_ends_with_the_program_where_processes_cannot_be_tagged(program: Program):
    program.start((f"{LEADER.format(0)}; echo begun; sleep 300", False), without_tags=True)
    pids = program.pids(1)
    until((program.folder / "read").exists)

    program.end(signal.SIGKILL)

    until(lambda: not any(map(is_alive, pids)))


@needs_tags
def test_guard_with_reports_about_unknown_groups_still_ends_processes(program: Program):
    forget = (
        "from tools.process_guard import process_guard\nfor group in range(60): process_guard().forget(10**9 + group)"
    )
    program.start((LEADER.format(0), False), ending=forget)
    (pid,) = program.pids(1)

    program.end()

    until(lambda: not is_alive(pid))


@needs_tags
async def test_guard_that_was_killed_is_started_again_by_the_next_command(tmp_path: Path):
    guard = ProcessGuard()
    guard.start()
    first = guard.pid

    os.kill(first, signal.SIGKILL)
    until(lambda: not is_alive(first))
    guard.start()

    assert guard.pid != first
    assert is_alive(guard.pid)
    os.kill(guard.pid, signal.SIGKILL)


@needs_tags
async def test_other_programs_are_started_without_a_tag(tmp_path: Path):
    command = ShellCommand("grep realtime.timeout /proc/self/limits > tagged; sleep 300", tmp_path, os.environ)
    running = asyncio.create_task(run_command(command, lambda data: None))
    while not (tmp_path / "tagged").exists() or not (tmp_path / "tagged").read_text():
        await asyncio.sleep(0.01)
    other = await asyncio.create_subprocess_exec("grep", "realtime", "/proc/self/limits", stdout=subprocess.PIPE)
    limits = (await other.communicate())[0].decode()
    tag = int((tmp_path / "tagged").read_text().split()[3])

    found = list(tagged_pids(tag))
    running.cancel()
    await asyncio.wait([running])

    assert found
    assert "realtime timeout" in limits
    assert str(tag) not in limits
    assert list(tagged_pids(tag)) == []
