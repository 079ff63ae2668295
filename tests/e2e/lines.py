"""Plain mode in a pseudo-terminal that is dumb, or that supports a cursor."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pexpect
from fakes.model_server import ModelServer

PATIENCE = 20.0


class Lines:
    def __init__(self, cwd: Path, env: Mapping[str, str], *args: str, term: str = "dumb") -> None:
        # pexpect has no types.
        spawn: Any = pexpect.spawn  # pyright: ignore[reportUnknownMemberType]
        self._process = spawn(
            sys.executable,
            ["-m", "cinch_tui", *args],
            cwd=str(cwd),
            env={**env, "TERM": term},
            dimensions=(40, 200),
            timeout=PATIENCE,
            encoding="utf-8",
        )
        self._process.delaybeforesend = None
        self._process.ptyproc.delayafterclose = 0
        self.said = ""

    def see(self, wanted: str) -> str:
        """Wait until the pattern is written; return the output up to its end."""
        try:
            self._process.expect(wanted)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            raise AssertionError(f"waited for {wanted!r}; there is:\n{self.said}{self._process.before}") from error
        part = self._process.before + self._process.after
        self.said += part
        return part

    def wait_for(self, path: Path) -> None:
        """Wait until the file exists."""
        deadline = time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < deadline, f"there is no {path}"
            time.sleep(0.02)

    def enter(self, line: str) -> None:
        self._process.send(f"{line}\r" if line else "\r")

    def answer(self, question: str, line: str) -> None:
        """Wait for the question and its input line, and type the answer."""
        self.see(question)
        self.see(r"(Number|Answer)[^\r\n]*: ")
        self.enter(line)

    def type(self, keys: str) -> None:
        self._process.send(keys)

    def interrupt(self) -> None:
        self._process.send("\x03")

    def kill(self, number: signal.Signals) -> None:
        self._process.kill(number)

    def end(self) -> int:
        """Wait for the end; return the exit status."""
        self._process.expect(pexpect.EOF)
        self.said += self._process.before
        self._process.close()
        return self._process.exitstatus if self._process.exitstatus is not None else -(self._process.signalstatus or 0)

    def close(self) -> None:
        if self._process.isalive():
            self._process.kill(signal.SIGKILL)
            self._process.wait()
        self._process.close(force=True)

    @property
    def resume_id(self) -> str:
        return re.findall(r"cinch --plain -r (\S+)", self.said)[-1]


class Started(Protocol):
    """Fixture that has started plain mode with a server of its own."""

    server: ModelServer


def reported(start: Started) -> str:
    """Return the messages of the last request that a started plain mode has sent."""
    return json.dumps(start.server.requests[-1].body["messages"], ensure_ascii=False)
