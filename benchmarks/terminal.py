"""A program in a pseudo-terminal, and observation of its output."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

from measure import memory, process_tree

ROWS, COLUMNS = 40, 120
PATIENCE = 30.0
ASKS_FOR_FRAMES = b"\x1b[?2026$p"
HAS_FRAMES = b"\x1b[?2026;2$y"
FRAME_ENDS = b"\x1b[?2026l"
"""End of a frame, sent by programs after the terminal has reported support for synchronized output."""


class Watched:
    """A running program. `written` counts bytes sent to the terminal, `frames` painted frames."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(cwd)
            os.execvpe(command[0], list(command), dict(env))
        self.written = self.frames = 0
        self.last_wrote = 0.0
        self._seen = b""

    def see(self, sign: bytes) -> float:
        """Return the milliseconds from process start until `sign` is written; discard earlier output."""
        while sign not in self._seen:
            if not select.select([self._fd], [], [], PATIENCE)[0]:
                raise SystemExit(f"{sign!r} was not painted")
            self._read()
        at = time.perf_counter()
        self._seen = self._seen[self._seen.index(sign) + len(sign) :]
        return (at - self.began) * 1e3

    def settle(self, seconds: float = 0.5) -> None:
        """Return when nothing was written for this many seconds."""
        while select.select([self._fd], [], [], seconds)[0]:
            self._read()

    def forget(self) -> None:
        """Discard the output so far."""
        self._seen = b""

    def watch(self, seconds: float) -> None:
        """Read output for this many seconds."""
        end = time.perf_counter() + seconds
        while (rest := end - time.perf_counter()) > 0:
            if select.select([self._fd], [], [], rest)[0]:
                self._read()

    def type(self, text: str) -> None:
        """Send all of the text, reading output meanwhile."""
        rest = text.encode()
        while rest:
            readable, writable, _ = select.select([self._fd], [self._fd], [], PATIENCE)
            if readable:
                self._read()
            elif writable:
                # The kernel accepts 4 KB at a time, and blocks for longer writes.
                rest = rest[os.write(self._fd, rest[:1024]) :]
            else:
                raise SystemExit("the program does not read its input")

    def echo(self, character: str) -> float:
        """Return the milliseconds from a key to its letter on the screen; nothing else may paint this letter."""
        typed = time.perf_counter()
        self.type(character)
        return self.see(character.encode()) - (typed - self.began) * 1e3

    def resize(self, rows: int, columns: int) -> None:
        ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def cpu(self) -> float:
        """Return the CPU seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the memory of all its processes (PSS), in megabytes."""
        return sum(map(memory, process_tree(self.pid)))

    def _read(self) -> None:
        data = os.read(self._fd, 65_536)
        self.last_wrote = time.perf_counter()
        self.written += len(data)
        self.frames += data.count(FRAME_ENDS)
        self._seen += data
        if ASKS_FOR_FRAMES in data:
            os.write(self._fd, HAS_FRAMES)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


@contextmanager
def watched(command: Sequence[str], env: Mapping[str, str], cwd: str) -> Generator[Watched]:
    program = Watched(command, env, cwd)
    try:
        yield program
    finally:
        program.end()
