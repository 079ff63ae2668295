"""Starting, streaming and stopping a command with all that it starts.

Nothing that a command starts outlives a cancellation, nor the end of this program, of whatever kind.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from harness.lazy_dataclass import dataclass
from tools.child_process import ChildProcess

_CHUNK_BYTES = 1 << 16
_CHUNKS_IN_PIPE = 2
_LAST_WORDS_SECONDS = 0.1

FREELY_BYTES = 100_000_000
BREATH_BYTES = 1 << 18
BREATH_SECONDS = 0.01
"""What prints more than is read freely waits so long after so many bytes: nobody looks at it, and all else would be
slow."""

OutputSink = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command, where it runs, and with which environment.

    `is_users`: the user typed it, so that what it leaves running is theirs and outlives this program.
    """

    text: str
    cwd: Path
    environment: Mapping[str, str]
    is_users: bool = False


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
    output = _Output(on_output, freely)
    try:
        process = _start(command, output.writing_end)
        try:
            exit_code = await _wait(process, output)
        finally:
            if process.is_running:
                await process.kill()
        if command.is_users:
            process.release()
        left = process.group if process.group_is_running else None
        return Ended(exit_code, time.monotonic() - started, left)
    finally:
        output.close()


def quiet_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with nothing in it that would make a program page or colour; `git_environment` does so for git."""
    return {**base, "TERM": "dumb", "PAGER": "cat"}


def _start(command: Command, output: int) -> ChildProcess:
    shell = shutil.which("bash") or "/bin/sh"
    argv = (shell, "-c", command.text)
    return ChildProcess.start(argv, cwd=command.cwd, environment=command.environment, output=output)


async def _wait(process: ChildProcess, output: _Output) -> int:
    """The exit code as a shell gives it."""
    output.start()
    code = await process.wait()
    await output.last_words()
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
