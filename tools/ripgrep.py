"""ripgrep as a child process: lookup, streaming and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import AsyncGenerator, Sequence
from functools import cache
from pathlib import Path

from harness.lazy_dataclass import dataclass
from tools.ignore_files import skip_special_ignore_files
from tools.process_guard import process_guard

_CHUNK = 256 * 1024
_TIMEOUT = 30.0
_ERROR_BYTES = 4000
# .gitignore applies outside repositories too; the user's ripgrep configuration must not change our results.
_ALWAYS = ("--no-config", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git", "--color=never")


class RipgrepMissing(RuntimeError):
    """ripgrep is not installed."""


@dataclass(slots=True)
class Ripgrep:
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
            await _stop(process)


async def _until(deadline: float, stream: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout_at(deadline):
        return await stream.read(_CHUNK)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # asyncio does not consider a process ended while its pipes are unread.
    await process.communicate()
    process_guard().forget(process.pid)


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
