"""A real pseudo-terminal with a program in it, and the screen that a person would see."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pexpect
import pyte

PATIENCE = 20.0
CINCH = (sys.executable, "-m", "cinch_tui")
KIND = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


class Terminal:
    """Spawns `python -m cinch_tui ...`, or another program; `text` is what stands there now."""

    def __init__(
        self,
        cwd: Path,
        env: Mapping[str, str],
        *args: str,
        columns: int = 100,
        rows: int = 32,
        program: Sequence[str] = CINCH,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._process = pexpect.spawn(
            program[0],
            [*program[1:], *args],
            cwd=str(cwd),
            # A size in the environment, as xdist gives its workers, would win over the terminal's own.
            env={**{name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}, **KIND},
            dimensions=(rows, columns),
            timeout=PATIENCE,
        )
        self.raw = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def attributes(self) -> list:
        """Of the line: what echoes, what sends a signal, and so on."""
        return termios.tcgetattr(self._process.child_fd)

    @property
    def text(self) -> str:
        self._read(0.02)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def see(self, wanted: str, *, seconds: float = PATIENCE) -> str:
        """Wait until the pattern stands on the screen; hands back the screen."""
        return self._until(lambda text: re.search(wanted, text) is not None, f"{wanted!r} to appear", seconds)

    def miss(self, unwanted: str, *, seconds: float = PATIENCE) -> str:
        """Wait until the pattern is gone from the screen."""
        return self._until(lambda text: re.search(unwanted, text) is None, f"{unwanted!r} to go", seconds)

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until that holds, reading what is written meanwhile."""
        self._until(lambda text: holds(), what, PATIENCE)

    def written(self, sign: bytes) -> None:
        """Wait until these bytes have been written to the terminal."""
        self.until(lambda: sign in self.raw, f"{sign!r} to be written")

    def type(self, keys: str) -> None:
        self._process.send(keys)

    def enter(self, line: str) -> None:
        """Type a line, wait until it is echoed, and send it."""
        self.type(line)
        self.see(re.escape(line.strip()[-20:]))
        self.type("\r")

    def answer(self, question: str, key: str) -> None:
        """Wait for a dialog that shows the pattern, press the key, and wait until that dialog is gone."""
        self.see(question)
        self.type(key)
        self.miss(question)

    def resize(self, columns: int, rows: int) -> None:
        self._process.setwinsize(rows, columns)
        self._screen.resize(rows, columns)

    def settle(self) -> None:
        """Wait until nothing more is written for a moment."""
        before = -1
        while before != len(self.raw):
            before = len(self.raw)
            self._read(0.1)

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        self._process.wait()

    def wait(self) -> int:
        """Read to the end; the exit status."""
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive() and time.monotonic() < deadline:
            self._read(0.05)
        self._read(0.05)
        self._process.close(force=True)
        return self._process.exitstatus if self._process.exitstatus is not None else -(self._process.signalstatus or 0)

    def hang_up(self) -> bool:
        """Take the terminal away, as a closed window does; whether the program ends then."""
        self._process.ptyproc.fileobj.close()
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._process.isalive()

    def close(self) -> None:
        self._process.close(force=True)

    def _until(self, holds, what: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = self.text
            if holds(text):
                return text
        raise AssertionError(f"waited {seconds:g} s for {what}; the screen is:\n{self.text}")

    def _read(self, seconds: float) -> None:
        try:
            data = self._process.read_nonblocking(1 << 16, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self.raw += data
        self._stream.feed(data)
