"""Notification channels: escape sequences and desktop programs.

Terminals with notification support show them on the desktop; others ring the bell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from msgspec import Struct

from cinch_tui.config.tables.ui import CallKind
from cinch_tui.terminal.multiplexers import passthrough
from harness.terminal_text import escape_controls

LONGEST = 80
BELL = "\x07"

_BY_PROGRAM: dict[str, CallKind] = {
    "iTerm.app": "osc9",
    "WezTerm": "osc777",
    "ghostty": "osc777",
    "WarpTerminal": "osc777",
}
# Set even if a multiplexer or SSH replaced the program name.
_BY_VARIABLE: dict[str, CallKind] = {"KITTY_WINDOW_ID": "osc99", "WEZTERM_PANE": "osc777", "GHOSTTY_BIN_DIR": "osc777"}
_BY_TERM: dict[str, CallKind] = {
    "xterm-kitty": "osc99",
    "xterm-ghostty": "osc777",
    "foot": "osc777",
    "wezterm": "osc777",
    "contour": "osc777",
}

_APPLE = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
# Texts are passed in the environment: project text must not become part of a script.
_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms; $n = New-Object System.Windows.Forms.NotifyIcon; "
    "$n.Icon = [System.Drawing.SystemIcons]::Information; $n.Visible = $true; "
    "$n.ShowBalloonTip(5000, $env:CINCH_CALL_TITLE, $env:CINCH_CALL_TEXT, 'None'); Start-Sleep 6; $n.Dispose()"
)


class Notification(Struct, frozen=True):
    """Title and text of a notification."""

    title: str
    text: str

    @classmethod
    def about(cls, project: str, text: str) -> Notification:
        """Create a notification without control characters and separators."""
        return cls(_plain(f"cinch – {project}"), _plain(text))


def terminal_output(kinds: Sequence[CallKind], notification: Notification, environ: Mapping[str, str]) -> str:
    """Return the output for the terminal."""
    if "off" in kinds:
        return ""
    wanted: list[CallKind] = [known_kind(environ) if kind == "auto" else kind for kind in kinds]
    parts = [_through(_sequence(kind, notification), environ) for kind in dict.fromkeys(wanted) if kind != "bell"]
    # A multiplexer may drop sequences it does not know.
    rings = "bell" in wanted or ("auto" in kinds and _is_wrapped(environ))
    return "".join(parts) + (BELL if rings else "")


def known_kind(environ: Mapping[str, str]) -> CallKind:
    """Return the notification type the terminal supports; the bell if unknown."""
    program = _BY_PROGRAM.get(environ.get("TERM_PROGRAM", ""))
    if program:
        return program
    if environ.get("LC_TERMINAL") == "iTerm2":
        return "osc9"
    by_variable: CallKind | None = next((kind for name, kind in _BY_VARIABLE.items() if environ.get(name)), None)
    by_term: CallKind | None = next(
        (kind for name, kind in _BY_TERM.items() if environ.get("TERM", "").startswith(name)), None
    )
    return by_variable or by_term or "bell"


def desktop_command(notification: Notification, platform: str = sys.platform) -> tuple[list[str], dict[str, str]]:
    """Return the command that shows a desktop notification, and its additional environment."""
    match platform:
        case "darwin":
            return ["osascript", "-e", _APPLE, notification.title, notification.text], {}
        case "win32":
            variables = {"CINCH_CALL_TITLE": notification.title, "CINCH_CALL_TEXT": notification.text}
            return ["powershell", "-NoProfile", "-Command", _WINDOWS], variables
        case _:
            return ["notify-send", "--app-name=cinch", "--", notification.title, notification.text], {}


def show_on_desktop(notification: Notification) -> None:
    """Start the desktop program without waiting; do nothing if it is missing."""
    # Late import: only needed if configured.
    import subprocess
    from contextlib import suppress

    command, variables = desktop_command(notification)
    with suppress(OSError):
        subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _sequence(kind: CallKind, notification: Notification) -> str:
    match kind:
        case "osc9":
            return f"\x1b]9;{notification.title}: {notification.text}{BELL}"
        case "osc777":
            return f"\x1b]777;notify;{notification.title};{notification.text}{BELL}"
        case "osc99":
            title = f"\x1b]99;i=cinch:o=unfocused:d=0;{notification.title}{BELL}"
            return f"{title}\x1b]99;i=cinch:o=unfocused:p=body;{notification.text}{BELL}"
        case _:
            return ""


def _through(sequence: str, environ: Mapping[str, str]) -> str:
    """Wrap a sequence for passthrough by a multiplexer."""
    if not sequence or not _is_wrapped(environ):
        return sequence
    return passthrough(sequence, "tmux" if environ.get("TMUX") else "screen")


def _is_wrapped(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("TMUX") or environ.get("STY"))


def _plain(text: str) -> str:
    """Reduce to one short line; semicolons separate fields."""
    line = " ".join(escape_controls(text).replace(";", ",").split())
    return "".join(letter for letter in line if letter.isprintable())[:LONGEST]
