"""Execution of shell commands: streams the output and ends a command with all its descendants.

No process of a command outlives a cancellation or the end of this program: a tag that its descendants inherit finds
them all, and the process guard covers a crash.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tools.process_guard import process_guard, tagged, tagged_pids, untag

# An interruption must take less than a second, even if the process ignores the first signal.
_GRACE_SECONDS = 0.7
_POLL_SECONDS = 0.02
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
    """Run a command to its end, passing on its output, including standard error, as it arrives.

    Returns when the command itself has ended, even if a background process holds its output open. When cancelled, it
    leaves no process behind.

    Args:
        command: The command.
        on_output: Called with each chunk of output.
        unthrottled: Bytes of output after which the command is slowed down.

    Raises:
        OSError, ValueError: The command cannot be started.
    """
    started = time.monotonic()
    output = _Output(on_output, unthrottled)
    try:
        process = _ChildProcess.start(command, output.writing_end)
        try:
            output.start()
            code = await process.wait()
            await output.read_final_output()
        finally:
            if process.is_running:
                await process.kill()
        if command.is_users:
            process.release()
        exit_code = 128 - code if code < 0 else code
        left = process.group if process.group_is_running else None
        return CommandResult(exit_code, time.monotonic() - started, left)
    finally:
        output.close()


class _Output:
    """Output pipe of a command. Not asyncio's, whose `wait` may also wait for the pipe to close."""

    def __init__(self, sink: OutputSink, unthrottled: int) -> None:
        self._sink = sink
        self._reading_end, self.writing_end = os.pipe()
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


class _ChildProcess:
    """A child process in a session of its own that ends with this program, as do its descendants."""

    def __init__(self, process: subprocess.Popen[bytes], tag: int) -> None:
        self._process = process
        self._tag = tag
        self.group = process.pid

    @classmethod
    def start(cls, command: ShellCommand, output: int) -> _ChildProcess:
        """Start a command that writes to the descriptor `output` and has no standard input."""
        guard = process_guard()
        guard.start()
        tag = guard.new_tag()
        # Not with asyncio, which may run other tasks before it starts the process: they must not get the tag.
        with tagged(tag):
            process = subprocess.Popen(
                (shutil.which("bash", path=command.environment.get("PATH")) or "/bin/sh", "-c", command.text),
                cwd=command.cwd,
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        guard.watch(process.pid)
        return cls(process, tag)

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    @property
    def group_is_running(self) -> bool:
        """Return True if a process of the group is alive, including the leader."""
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not _all_zombies(self.group)

    async def wait(self) -> int:
        """Wait for the process to end; return its exit code as `subprocess` reports it."""
        while (code := self._process.poll()) is None:
            await _exit_of(self._process)
        process_guard().forget(self.group)
        return code

    async def kill(self) -> None:
        """End the process and its descendants: SIGTERM first, then SIGKILL, also when cancelled again."""
        try:
            self._signal_all(signal.SIGTERM)
            await self._vanished()
        finally:
            self._signal_all(signal.SIGKILL)
            await self.wait()
            await self._vanished(signal.SIGKILL)

    def release(self) -> None:
        """Let the descendants outlive this program."""
        untag(self._tag)

    async def _vanished(self, number: signal.Signals | None = None) -> None:
        """Wait until nothing is alive or the grace period is over; signal processes that appear meanwhile."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < deadline:
            self._process.poll()
            if not self.group_is_running and not any(tagged_pids(self._tag)):
                return
            if number is not None:
                self._signal_all(number)
            await asyncio.sleep(_POLL_SECONDS)

    def _signal_all(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)
        for pid in tagged_pids(self._tag):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


async def _exit_of(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has ended, without reaping it."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        threading.Thread(target=_wait_in_thread, args=(process, loop, ended), daemon=True).start()
        await ended.wait()
        return
    try:
        loop.add_reader(descriptor, ended.set)
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _wait_in_thread(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    process.wait()
    # The loop may be closed by now.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)


def _all_zombies(group: int) -> bool:
    """Return True if every process of a group is dead but not reaped, as in containers without init."""
    states: list[bytes] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, process_group, *_ = entry.read_bytes().rpartition(b")")[2].split()
            if int(process_group) == group:
                states.append(state)
    return bool(states) and set(states) <= {b"Z", b"X"}
