"""The terminal of the person who called, for a command that changes its modes: it is given back whatever happens."""

from __future__ import annotations

import os
import subprocess
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress

from cinch_tui.terminal.guard import LEAVING, Guard
from cinch_tui.terminal.key_modes import asked, given_back
from harness.errors import ConfigError

BROKEN_ELSEWHERE = (
    "\x1b[<99u"  # every keyboard that was asked for on this screen
    "\x1b[?1l\x1b>\x1b[>4m\x1b[m"  # cursor keys, keypad and modified keys as usual
    "\x1b(B\x0f"  # letters, not lines
    "\x1b7\x1b[r\x1b8\x1b[?6l"  # the whole screen scrolls
    "\x1b[?5l\x1b[4l\x1b[?9l\x1b[?47l\x1b[0 q"  # not inverted, no insertion, the oldest mouse, the usual cursor
)
"""What other programs leave behind, and cinch never does."""


def open_terminal() -> int:
    """The terminal, also when input or output is another.

    Raises:
        ConfigError: there is none.
    """
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise ConfigError(f"there is no terminal here: {error.strerror}") from error


def reset_terminal() -> None:
    """Put it into the state in which a shell expects it.

    Raises:
        ConfigError: there is none, or it cannot be set.
    """
    terminal = open_terminal()
    try:
        os.write(terminal, (LEAVING + BROKEN_ELSEWHERE).encode())
        subprocess.run(["stty", "sane"], stdin=terminal, stderr=subprocess.DEVNULL, check=True)
        # What the mouse and the keyboard sent meanwhile is not for the shell.
        termios.tcflush(terminal, termios.TCIFLUSH)
    except (OSError, subprocess.CalledProcessError, termios.error) as error:
        raise ConfigError(f"the terminal cannot be reset: {error}; try: stty sane") from error
    finally:
        os.close(terminal)


@contextmanager
def raw(terminal: int, entering: str) -> Generator[None, None, None]:
    """Every key arrives as it is pressed; `entering` is what asks the terminal for more.

    Raises:
        ConfigError: it cannot be set.
    """
    guard = Guard()
    try:
        before = termios.tcgetattr(terminal)
        attributes = termios.tcgetattr(terminal)
        attributes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        attributes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    except termios.error as error:
        raise ConfigError(f"the keys of this terminal cannot be read: {error}") from error
    guard.undo(given_back(os.environ))
    guard.here(terminal, before)
    try:
        os.write(terminal, (entering + asked(os.environ)).encode())
        yield
    finally:
        with suppress(OSError, termios.error):
            os.write(terminal, ("\x1b[<u\x1b[?2004l" + given_back(os.environ)).encode())
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        guard.away()
