"""Execution of commands: streams the output and ends a command with all its descendants."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from tools.child_process import ChildProcess, Program

_CHUNK_BYTES = 1 << 16
_CHUNKS_IN_PIPE = 2
_FINAL_OUTPUT_SECONDS = 0.1

UNTHROTTLED_BYTES = 100_000_000
PAUSE_EVERY_BYTES = 1 << 18
PAUSE_SECONDS = 0.01
"""After `UNTHROTTLED_BYTES`, reading pauses this long after every `PAUSE_EVERY_BYTES`, so that the program stays
responsive."""

OutputSink = Callable[[bytes], None]


class ShellCommand(Struct, frozen=True):
    """Shell command with its working directory and environment."""

    text: str
    cwd: Path
    environment: Mapping[str, str]
    options: tuple[str, ...] = ()
    """Options that the shell starts with, such as `-O globstar`, each word apart."""
    is_users: bool = False
    """The user typed the command: processes that it leaves running are theirs and outlive this program."""


class CommandResult(Struct, frozen=True):
    """Result of a command."""

    exit_code: int
    """Exit status as a shell reports it: 128 plus the number for a signal."""

    duration: float
    """Seconds."""

    left_running: int | None = None
    """Process group that keeps running in the background."""


async def run_command(
    command: ShellCommand, on_output: OutputSink, *, unthrottled: int = UNTHROTTLED_BYTES
) -> CommandResult:
    """Run a shell command to its end, passing on its output, including standard error, as it arrives.

    Returns when the command itself has ended, even if a background process holds its output open. When cancelled, it
    leaves no process behind.

    Args:
        command: The command.
        on_output: Called with each chunk of output.
        unthrottled: Bytes of output after which the command is slowed down.

    Raises:
        OSError, ValueError: The command cannot be started.
    """
    output = CommandOutput(on_output, unthrottled)
    try:
        pipes = (subprocess.DEVNULL, output.writing_end, output.writing_end)
        return await run_process(shell_program(command), pipes, (output,), outlives=command.is_users)
    finally:
        output.close()


async def run_program(
    program: Program, data: bytes, on_output: OutputSink, on_error: OutputSink, *, unthrottled: int = UNTHROTTLED_BYTES
) -> CommandResult:
    """Run a program with data on its standard input, as `run_command` does; standard error is passed on separately."""
    # Unlike a pipe, a file needs no one to write while the program reads.
    with tempfile.TemporaryFile() as given:
        await asyncio.to_thread(_fill, given, data)
        output, errors = CommandOutput(on_output, unthrottled), CommandOutput(on_error, unthrottled)
        try:
            pipes = (given.fileno(), output.writing_end, errors.writing_end)
            return await run_process(program, pipes, (output, errors), outlives=False)
        finally:
            output.close()
            errors.close()


def shell_program(command: ShellCommand) -> Program:
    """Return the shell that runs a command."""
    shell = shutil.which("bash", path=command.environment.get("PATH")) or "/bin/sh"
    return Program((shell, *command.options, "-c", command.text), command.cwd, command.environment)


async def run_process(
    program: Program, pipes: tuple[int, int, int], outputs: Sequence[CommandOutput], *, outlives: bool
) -> CommandResult:
    """Run a program to its end and pass on its output; it leaves no process behind when cancelled.

    Args:
        program: The program.
        pipes: Its standard input, output and error.
        outputs: Ends of the pipes that are read.
        outlives: True if processes that it leaves running outlive this program.
    """
    started = time.monotonic()
    process = ChildProcess.start(program, *pipes)
    try:
        for each in outputs:
            each.start()
        code = await process.wait()
        for each in outputs:
            await each.read_final_output()
    finally:
        if process.is_running:
            await process.kill()
    if outlives:
        process.release()
    left = process.group if process.group_is_running else None
    return CommandResult(128 - code if code < 0 else code, time.monotonic() - started, left)


def _fill(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.seek(0)


class CommandOutput:
    """Output pipe of a command. Not asyncio's, whose `wait` may also wait for the pipe to close.

    Args:
        sink: Receives the output.
        unthrottled: Bytes of output after which the command is slowed down.
        ends: Ends for reading and writing, which are closed with it; None creates a pipe.
    """

    def __init__(
        self, sink: OutputSink, unthrottled: int = UNTHROTTLED_BYTES, *, ends: tuple[int, int] | None = None
    ) -> None:
        self._sink = sink
        self._reading_end, self.writing_end = ends or os.pipe()
        os.set_blocking(self._reading_end, False)
        self._ended = asyncio.Event()
        self._room = unthrottled
        self._pause_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._close_writing_end()
        self._resume()

    async def read_final_output(self) -> None:
        """Read output printed just before the end, for a short time only: another process may hold the pipe open
        forever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FINAL_OUTPUT_SECONDS):
                await self._ended.wait()

    def close(self) -> None:
        """Pass on what is left in the pipe and close it."""
        self._close_writing_end()
        for _ in range(_CHUNKS_IN_PIPE):
            self._read()
        if self._pause_timer is not None:
            self._pause_timer.cancel()
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
        except OSError:
            # All programs have closed the terminal.
            data = b""
        if data:
            self._sink(data)
            self._room -= len(data)
            if self._room <= 0:
                self._pause()
        else:
            asyncio.get_running_loop().remove_reader(self._reading_end)
            self._ended.set()

    def _pause(self) -> None:
        self._room = PAUSE_EVERY_BYTES
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._reading_end)
        self._pause_timer = loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        self._pause_timer = None
        asyncio.get_running_loop().add_reader(self._reading_end, self._read)
