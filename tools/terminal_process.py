"""Pseudo-terminal of a command: an interactive program runs in it, and the model and the user type into it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.job_spec import JobScreen
from tools.child_process import Program
from tools.shell_command import CommandOutput, CommandResult, OutputSink, ShellCommand, run_process, shell_program
from tools.terminal_screen import TerminalScreen

if TYPE_CHECKING:
    from harness.job_spec import JobInput

ROWS, COLUMNS = 24, 80
_TERMINAL_TYPE = "xterm-256color"
_UNSET = {"GIT_TERMINAL_PROMPT", "LINES", "COLUMNS"}
"""The user can answer git's questions, and the size of the terminal is not that of this program's."""
_ECHO_CHECK_SECONDS = 0.2
_QUIET_SECONDS = 0.4
"""A program that has printed nothing for this long is taken to wait for input."""
_LOCAL_MODES = 3
_SECRET_PROMPT = re.compile(r"(?i)(password|passphrase|passcode|\bpin\b|secret|token|verification code)[^\n]*[:?>]\s*$")
# Fields for a passphrase in a full-screen dialog, as pinentry draws them.
_SECRET_FIELD = re.compile(r"(?i)(password|passphrase|\bpin\b)[^\n]*:\s*\**_{3,}")
# The leader of a session that opens a terminal controls it.
_OPEN_TERMINAL = 'exec 0<>"$1" 1>&0 2>&0; shift; exec "$@"'


class TerminalProcess:
    """A command in a pseudo-terminal."""

    def __init__(self, command: ShellCommand) -> None:
        environment = {name: value for name, value in command.environment.items() if name not in _UNSET}
        self._command = replace(command, environment=environment | {"TERM": _TERMINAL_TYPE})
        self._screen: TerminalScreen | None = None
        self.last_line: Callable[[], str] = str
        """Returns the last line of the output, which may be a prompt."""
        self._master = self._slave = -1
        self._received = 0
        self._last_output = 0.0
        self._echoed = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_reported = False
        self.on_hidden_input: Callable[[], None] = lambda: None
        """Called when the program begins to read without echo."""

    async def run(self, on_output: OutputSink) -> CommandResult:
        """Run the command to its end, as `run_command` does."""
        self._master, self._slave = os.openpty()
        try:
            os.set_blocking(self._master, False)
            self._screen = screen = TerminalScreen(ROWS, COLUMNS, on_output, self._reply)
            self.resize(ROWS, COLUMNS)
            output = CommandOutput(partial(self._receive, screen), ends=(os.dup(self._master), os.dup(self._slave)))
            try:
                pipes = (subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)
                return await run_process(self._program(), pipes, (output,), outlives=False)
            finally:
                output.close()
                screen.close()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            for end in (self._master, self._slave):
                os.close(end)
            self._master = self._slave = -1

    @property
    def hides_input(self) -> bool:
        if self._slave < 0:
            return False
        try:
            modes: int = termios.tcgetattr(self._slave)[_LOCAL_MODES]
        except termios.error:
            return False
        if modes & termios.ECHO:
            return False
        # Line editors turn off the echo as well and print what is typed themselves.
        return bool(modes & termios.ICANON) or self._shows_secret_prompt

    @property
    def screen(self) -> JobScreen | None:
        drawn = self._screen.drawn if self._screen else None
        if self._screen is None or drawn is None:
            return None
        text = "\n".join(drawn.rows).rstrip("\n")
        return JobScreen(text, *drawn.position, is_alternate=self._screen.is_alternate)

    @property
    def uses_application_keys(self) -> bool:
        return self._screen is not None and self._screen.uses_application_keys

    def resize(self, rows: int, columns: int) -> None:
        if self._screen is None or self._slave < 0:
            return
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> int:
        if self._master < 0:
            return 0
        # What is echoed is no answer.
        self._echoed = self._received + len(data)
        with suppress(BlockingIOError):
            return os.write(self._master, data)
        return 0

    @property
    def is_settled(self) -> bool:
        return self._received > self._echoed and time.monotonic() - self._last_output >= _QUIET_SECONDS

    def _program(self) -> Program:
        program = shell_program(self._command)
        opener = ("/bin/sh", "-c", _OPEN_TERMINAL, "sh", os.ttyname(self._slave))
        return Program((*opener, *program.args), program.cwd, program.environment)

    @property
    def _shows_secret_prompt(self) -> bool:
        screen = self.screen
        if screen is None:
            return _SECRET_PROMPT.search(self.last_line()) is not None
        row = screen.text.split("\n")[screen.line - 1 : screen.line]
        if screen.is_alternate:
            # A text in an editor is no prompt.
            return any(map(_SECRET_FIELD.search, row))
        return any(_SECRET_PROMPT.search(each[: screen.column - 1]) for each in row)

    def _reply(self, data: bytes) -> None:
        """Reply to a program that queries its terminal."""
        if self._master >= 0:
            with suppress(BlockingIOError):
                os.write(self._master, data)

    def _receive(self, screen: TerminalScreen, data: bytes) -> None:
        screen.feed(data)
        self._received += len(data)
        self._last_output = time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_ECHO_CHECK_SECONDS, self._check_echo)

    def _check_echo(self) -> None:
        """Report the start of hidden input once."""
        was_reported, self._is_reported = self._is_reported, self.hides_input
        if self._is_reported and not was_reported:
            self.on_hidden_input()


if TYPE_CHECKING:
    _: type[JobInput] = TerminalProcess
