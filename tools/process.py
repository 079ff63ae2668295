"""Starting, streaming and stopping a command with all that it starts.

A command gets a session of its own, so that one signal reaches its whole process group. What leaves the group
(`setsid`, daemons) is found by a mark in its environment, where the system lets us read that.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from harness.lazy_dataclass import dataclass
from harness.messages import new_id

# Within a second of an interruption nothing may be left, whatever it does with the first signal.
_GRACE_SECONDS = 0.7
_POLL_SECONDS = 0.02
_CHUNK_BYTES = 1 << 16
_CHUNKS_IN_PIPE = 2
_LAST_WORDS_SECONDS = 0.1
_MARK = "CINCH_COMMAND_ID"

FREELY_BYTES = 100_000_000
BREATH_BYTES = 1 << 18
BREATH_SECONDS = 0.01
"""What prints more than is read freely waits so long after so many bytes: nobody looks at it, and all else would be
slow."""

OutputSink = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command, where it runs, and with which environment."""

    text: str
    cwd: Path
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `left_running` is the process group that goes on in the background, or None."""

    exit_code: int
    duration: float
    left_running: int | None = None


async def run_command(command: Command, on_output: OutputSink, *, freely: int = FREELY_BYTES) -> Ended:
    """Run a command to its end, handing on what it prints, standard error included, as it prints it.

    After `freely` bytes it is made to wait now and then. Returns when the command itself has ended, even if something
    it left in the background holds its output open. Cancelled, no process of it is left. Raises OSError or ValueError
    if it cannot be started.
    """
    started = time.monotonic()
    mark = new_id()
    output = _Output(on_output, freely)
    try:
        process = await _start(command, mark, output.writing_end)
        try:
            exit_code = await _wait(process, output)
        finally:
            if process.returncode is None:
                await _kill(process, mark)
        left = process.pid if _group_lives(process.pid) else None
        return Ended(exit_code, time.monotonic() - started, left)
    finally:
        output.close()


def quiet_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` with nothing in it that would make a program page, colour or wait for a person."""
    return {**base, "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


async def _start(command: Command, mark: str, output: int) -> asyncio.subprocess.Process:
    shell = shutil.which("bash") or "/bin/sh"
    return await asyncio.create_subprocess_exec(
        shell,
        "-c",
        command.text,
        cwd=command.cwd,
        env={**command.environment, _MARK: mark},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


async def _wait(process: asyncio.subprocess.Process, output: _Output) -> int:
    """The exit code as a shell gives it."""
    output.start()
    await process.wait()
    await output.last_words()
    code = process.returncode or 0
    return 128 - code if code < 0 else code


class _Output:
    """The pipe a command prints into. Ours, not asyncio's, whose `wait` may wait for the pipe to close as well."""

    def __init__(self, sink: OutputSink, freely: int) -> None:
        self._sink = sink
        self._reading_end, self.writing_end = os.pipe()
        os.set_blocking(self._reading_end, False)
        self._ended = asyncio.Event()
        self._room = freely
        self._resting: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._close_writing_end()
        self._go_on()

    async def last_words(self) -> None:
        """Read what was printed before the end, and no longer: something may hold the pipe open for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await self._ended.wait()

    def close(self) -> None:
        """Hand on what is still in the pipe, and let go of it."""
        self._close_writing_end()
        for _ in range(_CHUNKS_IN_PIPE):
            self._read()
        if self._resting is not None:
            self._resting.cancel()
        asyncio.get_running_loop().remove_reader(self._reading_end)
        os.close(self._reading_end)

    def _close_writing_end(self) -> None:
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    def _read(self) -> None:
        try:
            data = os.read(self._reading_end, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._sink(data)
            self._room -= len(data)
            if self._room <= 0:
                self._rest()
        else:
            asyncio.get_running_loop().remove_reader(self._reading_end)
            self._ended.set()

    def _rest(self) -> None:
        self._room = BREATH_BYTES
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._reading_end)
        self._resting = loop.call_later(BREATH_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._resting = None
        asyncio.get_running_loop().add_reader(self._reading_end, self._read)


async def _kill(process: asyncio.subprocess.Process, mark: str) -> None:
    """End the group and all that left it: politely, then, also when we are cancelled again, by force."""
    try:
        _signal_all(process.pid, mark, signal.SIGTERM)
        await _vanished(process, mark)
    finally:
        _signal_all(process.pid, mark, signal.SIGKILL)
        await process.wait()
        await _vanished(process, mark)


async def _vanished(process: asyncio.subprocess.Process, mark: str) -> None:
    """Until nothing of it lives, or the grace is over."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline:
        if not _group_lives(process.pid) and not any(_marked(mark)):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _signal_all(group: int, mark: str, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in _marked(mark):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _all_zombies(group)


def _all_zombies(group: int) -> bool:
    """Whether only dead processes are left that nobody has waited for, as in containers without an init."""
    states: list[bytes] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, process_group, *_ = entry.read_bytes().rpartition(b")")[2].split()
            if int(process_group) == group:
                states.append(state)
    return bool(states) and set(states) <= {b"Z", b"X"}


def _marked(mark: str) -> Iterator[int]:
    """The processes that carry our mark. None where there is no `/proc` to look into."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in entry.read_bytes():
                yield int(entry.parent.name)
