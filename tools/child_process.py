"""Child process in a session of its own, which ends with this program together with all its descendants.

No process outlives a cancellation or the end of this program: a tag that descendants inherit finds them all, and the
process guard covers a crash.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from tools.process_guard import process_guard, tagged, tagged_pids, untag

# An interruption must take less than a second, even if the process ignores the first signal.
_GRACE_SECONDS = 0.7
_POLL_SECONDS = 0.02


class Program(Struct, frozen=True):
    """Program with its arguments, working directory and environment."""

    args: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]


class ChildProcess:
    """A child process in a session of its own."""

    def __init__(self, process: subprocess.Popen[bytes], tag: int) -> None:
        self._process = process
        self._tag = tag
        self.group = process.pid

    @classmethod
    def start(cls, program: Program, stdin: int, stdout: int, stderr: int) -> ChildProcess:
        """Start a program with these descriptors, or `subprocess.DEVNULL`.

        Raises:
            OSError, ValueError: The program cannot be started.
        """
        guard = process_guard()
        guard.start()
        tag = guard.new_tag()
        # Not with asyncio, which may run other tasks before it starts the process: they must not get the tag.
        with tagged(tag):
            process = subprocess.Popen(
                program.args,
                cwd=program.cwd,
                env=program.environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
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
