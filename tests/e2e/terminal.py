"""Real pseudo-terminal with a program in it, and its screen."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pyte
from fakes.model_server import ModelServer

from cinch_tui.screens.dialog import NOT_YET

PATIENCE = 20.0
CINCH = (sys.executable, "-m", "cinch_tui")
KIND = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


class Screen(pyte.Screen):
    """pyte parses the sequence that restores modes as a scroll region."""

    def set_margins(self, top: int | None = None, bottom: int | None = None, *, private: bool = False) -> None:
        if not private:
            super().set_margins(top, bottom)


class Terminal:
    """`python -m cinch_tui ...`, or another program, in a pseudo-terminal; `text` is the current screen."""

    server: ModelServer
    """Model server of the app, set by the fixture `cinch`."""

    def __init__(
        self,
        cwd: Path,
        env: Mapping[str, str],
        *args: str,
        columns: int = 100,
        rows: int = 32,
        program: Sequence[str] = CINCH,
    ) -> None:
        self._screen = Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        # pexpect has no types.
        spawn: Any = pexpect.spawn  # pyright: ignore[reportUnknownMemberType]
        self._process = spawn(
            program[0],
            [*program[1:], *args],
            cwd=str(cwd),
            # A size in the environment, as xdist sets it for its workers, would override the terminal's own.
            env={**{name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}, **KIND},
            dimensions=(rows, columns),
            timeout=PATIENCE,
        )
        self._process.ptyproc.delayafterclose = 0
        # Other programs, such as shells, end their children.
        self._endings = (
            ((signal.SIGKILL, PATIENCE),) if program is CINCH else ((signal.SIGHUP, 2), (signal.SIGKILL, PATIENCE))
        )
        self._raw = bytearray()
        self._shown: str | None = None

    @property
    def raw(self) -> bytes:
        """All output so far."""
        return bytes(self._raw)

    @property
    def size(self) -> tuple[int, int]:
        return self._screen.columns, self._screen.lines

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from zero."""
        return self._screen.cursor.x, self._screen.cursor.y

    def colour_of(self, letter: str) -> str:
        """Return the colour of the text, at its first occurrence from the bottom."""
        rows = (self._screen.buffer[row] for row in reversed(range(self._screen.lines)))
        return next(
            row[column].fg for row in rows for column in range(self._screen.columns) if row[column].data == letter
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def attributes(self) -> list[Any]:
        """Line attributes of the terminal: echo, signals and so on."""
        return termios.tcgetattr(self._process.child_fd)

    @property
    def text(self) -> str:
        self.read(0.02)
        if self._shown is None:
            self._shown = "\n".join(line.rstrip() for line in self._screen.display)
        return self._shown

    def see(self, wanted: str, *, seconds: float = PATIENCE) -> str:
        """Wait until the pattern is on the screen; return the screen."""
        return self._until(lambda text: re.search(wanted, text) is not None, f"{wanted!r} to appear", seconds)

    def miss(self, unwanted: str, *, seconds: float = PATIENCE) -> str:
        """Wait until the pattern is no longer on the screen."""
        return self._until(lambda text: re.search(unwanted, text) is None, f"{unwanted!r} to go", seconds)

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until the condition holds, reading the output meanwhile."""
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
        """Wait for a dialog that shows the pattern, press the key, and wait until that dialog is closed."""
        self.see(question)
        self.miss(NOT_YET)
        self.type(key)
        self.miss(question)

    def choose(self, key: str, wanted: str) -> None:
        """Press a key until it has an effect: a dialog ignores keys in its first moment."""
        for _ in range(40):
            self.miss(NOT_YET)
            self.type(key)
            try:
                self.see(wanted, seconds=0.6)
            except AssertionError:
                continue
            return
        raise AssertionError(f"{key!r} was not heard; the screen is:\n{self.text}")

    def resize(self, columns: int, rows: int) -> None:
        self._process.setwinsize(rows, columns)
        self._screen.resize(rows, columns)
        self._shown = None

    def settle(self) -> None:
        """Wait until the output pauses."""
        before = -1
        while before != len(self._raw):
            before = len(self._raw)
            self.read(0.1)

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid, number)
        self._process.wait()

    def is_alive(self) -> bool:
        return self._process.isalive()

    def wait(self) -> int:
        """Read to the end; return the exit status."""
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive() and time.monotonic() < deadline:
            self.read(0.02)
        self.read(0.02)
        self._process.close(force=True)
        return self._process.exitstatus if self._process.exitstatus is not None else -(self._process.signalstatus or 0)

    def hang_up(self) -> bool:
        """Close the terminal, as a closed window does; return True if the program ends."""
        self._process.ptyproc.fileobj.close()
        deadline = time.monotonic() + PATIENCE
        while self._process.isalive() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._process.isalive()

    def close(self) -> None:
        """Terminate the process."""
        for number, seconds in self._endings:
            if self._process.isalive():
                os.kill(self._process.pid, number)
            deadline = time.monotonic() + seconds
            while self._process.isalive() and time.monotonic() < deadline:
                time.sleep(0.01)
        self._process.close(force=True)

    def _until(self, holds: Callable[[str], object], what: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = self.text
            if holds(text):
                return text
        raise AssertionError(f"waited {seconds:g} s for {what}; the screen is:\n{self.text}")

    def read(self, seconds: float) -> None:
        """Read output, waiting up to `seconds` for it."""
        try:
            data = self._process.read_nonblocking(1 << 16, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self._raw += data
        self._stream.feed(data)
        self._shown = None
