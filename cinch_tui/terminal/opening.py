"""Opening what a link leads to, where the person sits: a page in their browser, a file in their editor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported

from cinch_tui.terminal.editor import editor_command, run_there

NO_VIEWER = "There is no desktop here to open it on"


def viewer(environ: Mapping[str, str], platform: str) -> list[str]:
    """The program that opens anything on the person's desktop; nothing where there is none.

    What Python's own `webbrowser` would take then may be a browser for terminals, which would draw over the screen.
    """
    if platform == "darwin":
        return ["open"]
    if shutil.which("wslview"):
        return ["wslview"]
    has_desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return ["xdg-open"] if has_desktop and shutil.which("xdg-open") else []


def show_on_desktop(target: str) -> bool:
    """Open an address or a file there; false where there is no desktop."""
    command = viewer(os.environ, sys.platform)
    if not command:
        return False
    # Some viewers end when they are closed: nobody waits for them, but somebody must take note of their end.
    threading.Thread(target=_run, args=([*command, target],), name="viewer", daemon=True).start()
    return True


def _run(command: Sequence[str]) -> None:
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, check=False)
    except OSError:
        return


def edit_at(file: Path, line: int, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> str:
    """Show a file in the person's editor, at a line; what went wrong, or nothing.

    `suspend` gives the terminal away while it is entered. The app stands still meanwhile.
    """
    try:
        argv = editor_command(command, os.environ)
    except ValueError as error:
        return f"The editor's command cannot be read: {error}."
    if not argv or shutil.which(argv[0]) is None:
        return "No editor was found; set ui.editor in the configuration, or $EDITOR."
    try:
        with suspend():
            status = run_there([*argv, *at_line(argv[0], file, line)])
    except (OSError, SuspendNotSupported) as error:
        return f"The editor {argv[0]} could not be started: {error}."
    return f"The editor {argv[0]} ended with status {status}." if status else ""


_WITH_COLON = ("code", "codium", "cursor", "subl", "hx", "helix", "zed")
_WITH_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "pico", "ex", "mg")


def at_line(editor: str, file: Path, line: int) -> list[str]:
    """How an editor is told which line; one that is not known here is told the file alone."""
    name = Path(editor).name
    if not line or name not in (*_WITH_COLON, *_WITH_PLUS):
        return [str(file)]
    if name in _WITH_PLUS:
        return [f"+{line}", str(file)]
    place = f"{file}:{line}"
    return ["-g", place] if name in ("code", "codium", "cursor") else [place]
