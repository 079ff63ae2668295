"""Raw mode and reset of the controlling terminal, for subcommands that change its modes."""

from __future__ import annotations

import os
import subprocess
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress

from cinch_tui.terminal.first_frame import raw_attributes
from cinch_tui.terminal.guard import RESET, Guard
from cinch_tui.terminal.key_protocols import enabling, restoring
from harness.errors import ConfigError

FULL_RESET = (
    "\x1b[<99u"  # all pushed keyboard modes of this screen
    "\x1b[?1l\x1b>\x1b[>4m\x1b[m"  # default cursor keys, keypad and modified keys
    "\x1b(B\x0f"  # default character set
    "\x1b7\x1b[r\x1b8\x1b[?6l"  # full scroll region
    "\x1b[?5l\x1b[4l\x1b[?9l\x1b[?47l\x1b[0 q"  # no inversion, insert mode or X10 mouse; main screen, default cursor
)
"""Reset sequences for modes that other programs leave behind and cinch never sets."""


def open_terminal() -> int:
    """Open the controlling terminal, independent of redirection.

    Raises:
        ConfigError: no controlling terminal.
    """
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise ConfigError(f"no terminal available: {error.strerror}") from error


def reset_terminal() -> None:
    """Reset the terminal to the state a shell expects.

    Raises:
        ConfigError: no terminal, or it cannot be reset.
    """
    terminal = open_terminal()
    try:
        os.write(terminal, (RESET + FULL_RESET).encode())
        subprocess.run(["stty", "sane"], stdin=terminal, stderr=subprocess.DEVNULL, check=True)
        # Pending mouse and keyboard input is not meant for the shell.
        termios.tcflush(terminal, termios.TCIFLUSH)
    except (OSError, subprocess.CalledProcessError, termios.error) as error:
        raise ConfigError(f"cannot reset the terminal: {error}; try: stty sane") from error
    finally:
        os.close(terminal)


@contextmanager
def raw(terminal: int, entering: str) -> Generator[None, None, None]:
    """Read single keys in raw mode; `entering` is written to enable further modes.

    Raises:
        ConfigError: the terminal cannot be configured.
    """
    guard = Guard()
    try:
        before = termios.tcgetattr(terminal)
        termios.tcsetattr(terminal, termios.TCSANOW, raw_attributes(termios.tcgetattr(terminal)))
    except termios.error as error:
        raise ConfigError(f"cannot switch the terminal to raw mode: {error}") from error
    guard.set_reset(restoring(os.environ))
    guard.acquire(terminal, before)
    try:
        os.write(terminal, (entering + enabling(os.environ)).encode())
        yield
    finally:
        with suppress(OSError, termios.error):
            os.write(terminal, ("\x1b[<u\x1b[?2004l" + restoring(os.environ)).encode())
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        guard.release()
