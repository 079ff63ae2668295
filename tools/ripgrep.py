"""ripgrep as a child process: lookup, streaming and stopping, also if an ignore file is a pipe or a device."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import sys
import sysconfig
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from harness.concurrency import cancel_tasks
from harness.errors import NotAFile
from tools.process_guard import process_guard, stop_group

_CHUNK = 256 * 1024
_TIMEOUT = 30.0
_ERROR_BYTES = 4000
# .gitignore applies outside repositories too; the user's ripgrep configuration must not change our results.
_ALWAYS = ("--no-config", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git", "--color=never")
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})
_EXCLUDE = ".git/info/exclude"
_SLOW_SECONDS = 0.3
_RELEASE_SECONDS = 0.02


class RipgrepMissing(RuntimeError):
    """ripgrep is not installed."""


class Ripgrep(Struct):
    """One search; `error` and `timed_out` are set when `chunks` ends."""

    arguments: Sequence[str]
    cwd: Path
    timeout: float = _TIMEOUT
    error: str = ""
    """Error output of ripgrep."""

    timed_out: bool = False
    """True if the search was stopped early."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the output as it arrives. Closing the generator (`aclosing`) stops ripgrep.

        Raises:
            RipgrepMissing: ripgrep is not installed.
            NotAFile: An ignore file is a device.
        """
        process_guard().start()
        process = await asyncio.create_subprocess_exec(
            ripgrep_path(),
            *_ALWAYS,
            *self.arguments,
            cwd=self.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process_guard().watch(process.pid)
        deadline = asyncio.get_running_loop().time() + self.timeout
        try:
            async with skip_special_ignore_files(self.cwd, process):
                while chunk := await _until(deadline, process.stdout):
                    yield chunk
            message = await _until(deadline, process.stderr)
            await process.wait()
            if process.returncode == 2:
                self.error = message[:_ERROR_BYTES].decode("utf-8", "replace").strip()
        except TimeoutError:
            self.timed_out = True
        finally:
            await stop_group(process)

    async def names(self, most: int | None = None) -> list[str]:
        """Return the names that a search with `--files --null` finds, or the first ones.

        Raises:
            RipgrepMissing, NotAFile: See `chunks`.
        """
        found: list[str] = []
        rest = b""
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                *whole, rest = (rest + chunk).split(b"\0")
                found += [name.decode("utf-8", "surrogateescape") for name in whole]
                if most is not None and len(found) >= most:
                    break
        return found[:most]


async def _until(deadline: float, stream: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout_at(deadline):
        return await stream.read(_CHUNK)


@cache
def ripgrep_path() -> str:
    """Return the path of ripgrep: on PATH, or installed with cinch.

    Raises:
        RipgrepMissing: There is neither.
    """
    on_path = shutil.which("rg")
    # A relative path comes from an entry of PATH such as `.`, where any program may be named rg.
    if on_path is not None and Path(on_path).is_absolute():
        return on_path
    for folder in (
        sysconfig.get_path("scripts"),
        Path(sys.executable).parent,
        sysconfig.get_path("scripts", "posix_user"),
    ):
        candidate = Path(folder) / "rg"
        if os.access(candidate, os.X_OK):
            return str(candidate)
    raise RipgrepMissing("ripgrep (rg) was not found, neither on PATH nor next to this Python. Install ripgrep.")


@asynccontextmanager
async def skip_special_ignore_files(folder: Path, process: asyncio.subprocess.Process) -> AsyncGenerator[None]:
    """Keep a search of `folder` from blocking: pipes are opened for it, and it is killed if it reads a device.

    Raises:
        NotAFile: At the end, if the search was killed.
    """
    passing = asyncio.create_task(_unblock_when_slow(folder, process))
    try:
        yield
    finally:
        passing.cancel()
        await cancel_tasks([passing])
    if not passing.cancelled():
        passing.result()


async def _unblock_when_slow(folder: Path, process: asyncio.subprocess.Process) -> None:
    # Only a slow search may be blocked: looking for such files takes longer than most searches.
    await asyncio.sleep(_SLOW_SECONDS)
    stop = threading.Event()
    try:
        pipes = await asyncio.to_thread(_pipes, folder, stop)
        while pipes:
            for pipe in pipes:
                # Opened for writing and closed, a pipe gives its reader an end of file.
                with suppress(OSError):
                    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            await asyncio.sleep(_RELEASE_SECONDS)
    except NotAFile:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        raise
    finally:
        stop.set()


def _pipes(folder: Path, stop: threading.Event) -> list[str]:
    found: list[str] = []
    for path in _ignore_files(folder, stop):
        with suppress(OSError):
            # Links are followed, as in ripgrep.
            mode = os.stat(path).st_mode  # noqa: PTH116  strings are cheaper than paths, and this runs for each folder
            if stat.S_ISFIFO(mode):
                found.append(path)
            elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise NotAFile(f"{path} is a device, so the ignored files cannot be determined. Remove it.")
    return found


def _ignore_files(folder: Path, stop: threading.Event) -> Iterator[str]:
    """Yield the paths of ignore files that a search of `folder` may read, including those of its parents."""
    for parent in folder.parents:
        yield from (f"{parent}/{name}" for name in (*_IGNORE_FILES, _EXCLUDE))
    for path, folders, files in os.walk(folder):
        if stop.is_set():
            return
        yield from (f"{path}/{name}" for name in _IGNORE_FILES.intersection(files))
        if ".git" in folders:
            folders.remove(".git")
            yield f"{path}/{_EXCLUDE}"
