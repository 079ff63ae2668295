"""Ignore files that are pipes or devices, on which ripgrep would block."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from harness.concurrency.cancellation import cancel_tasks
from harness.errors import NotAFile

_NAMES = frozenset({".gitignore", ".ignore", ".rgignore"})
_EXCLUDE = ".git/info/exclude"
_SLOW_SECONDS = 0.3
_RELEASE_SECONDS = 0.02


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
                _release(pipe)
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
        yield from (f"{parent}/{name}" for name in (*_NAMES, _EXCLUDE))
    for path, folders, files in os.walk(folder):
        if stop.is_set():
            return
        yield from (f"{path}/{name}" for name in _NAMES.intersection(files))
        if ".git" in folders:
            folders.remove(".git")
            yield f"{path}/{_EXCLUDE}"


def _release(pipe: str) -> None:
    """Open a pipe for writing and close it, so that its reader gets an end of file."""
    with suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
