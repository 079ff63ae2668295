"""A program in a real pseudo-terminal, watched for what it paints."""

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

from measure import memory

ROWS, COLUMNS = 40, 120
PATIENCE = 30.0


class Watched:
    """A running program. `written` counts the bytes it has sent to the terminal."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(cwd)
            os.execvpe(command[0], list(command), dict(env))
        self.written = 0
        self._seen = b""

    def see(self, sign: bytes) -> float:
        """Milliseconds since the spawn when `sign` is written; what was written before is forgotten."""
        while sign not in self._seen:
            if not select.select([self._fd], [], [], PATIENCE)[0]:
                raise SystemExit(f"{sign!r} was not painted")
            self._read()
        at = time.perf_counter()
        self._seen = self._seen[self._seen.index(sign) + len(sign) :]
        return (at - self.began) * 1e3

    def settle(self, seconds: float = 0.5) -> None:
        """Return when nothing was written for so long."""
        while select.select([self._fd], [], [], seconds)[0]:
            self._read()

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes, what is shared counted in parts."""
        return memory(self.pid)

    def _read(self) -> None:
        data = os.read(self._fd, 65_536)
        self.written += len(data)
        self._seen += data

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
