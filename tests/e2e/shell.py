"""Shell in a real pseudo-terminal, with cinch started from its prompt."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from e2e.terminal import CINCH, Terminal

SHELL = ("bash", "--noprofile", "--norc", "-i")
PROMPT = r"user\$"
MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
KEYBOARD = re.compile(rb"\x1b\[([<>])[0-9]*u")
ON_AT_FIRST = {"7", "25"}


class Shell:
    def __init__(self, terminal: Terminal, folder: Path) -> None:
        self.screen = terminal
        self._folder = folder
        terminal.see(PROMPT)
        # At the prompt the terminal has the attributes of the line editor; those of a command are needed.
        self.before = self.attributes()

    def start(self, *args: str) -> None:
        self.screen.type(shlex.join([*CINCH, *args]) + "\r")
        self.screen.see("Ask for a change")

    @property
    def pid(self) -> int:
        """Return the process id of the cinch that was started last."""
        return child_of(self.screen.pid)

    def run(self, command: str) -> str:
        """Return the content that a command writes to a file."""
        file = self._folder / "answer"
        file.unlink(missing_ok=True)
        self.screen.type(f"{command} > {file}.new; mv {file}.new {file}\r")
        self.screen.until(file.exists, f"{command} to end")
        return file.read_text()

    def attributes(self) -> str:
        return self.run("stty -a")

    def is_whole(self) -> bool:
        """Return True if no terminal mode is set that was not set before."""
        return left_on(self.screen.raw) == set()


def child_of(pid: int) -> int:
    """Return the process that this one started last."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[-1])


def left_on(raw: bytes) -> set[str]:
    """Return the modes of a terminal that are set or missing compared with its initial ones."""
    now = set(ON_AT_FIRST)
    for numbers, switch in MODE.findall(raw):
        for number in numbers.decode().split(";"):
            (now.add if switch == b"h" else now.discard)(number)
    if [b"<", *KEYBOARD.findall(raw)][-1] == b">":
        now.add("keyboard")
    return now ^ ON_AT_FIRST
