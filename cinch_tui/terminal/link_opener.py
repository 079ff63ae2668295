"""Opening link targets: web pages in the browser, files in the user's editor."""

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

NO_VIEWER = "No desktop available to open it"


def viewer(environ: Mapping[str, str], platform: str) -> list[str]:
    """Return the command that opens a file or URL on the desktop; empty without a desktop.

    Python's `webbrowser` may pick a text browser, which would draw over the screen.
    """
    if platform == "darwin":
        return ["open"]
    if shutil.which("wslview"):
        return ["wslview"]
    has_desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return ["xdg-open"] if has_desktop and shutil.which("xdg-open") else []


def show_on_desktop(target: str) -> bool:
    """Open a URL or file on the desktop; return False without a desktop."""
    command = viewer(os.environ, sys.platform)
    if not command:
        return False
    # Some viewers run until they are closed; the thread reaps the process.
    threading.Thread(target=_run, args=([*command, target],), name="viewer", daemon=True).start()
    return True


def _run(command: Sequence[str]) -> None:
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, check=False)
    except OSError:
        return


def edit_at(file: Path, line: int, command: str, suspend: Callable[[], AbstractContextManager[None]]) -> str:
    """Open a file in the user's editor at a line; return an error message, or an empty string.

    `suspend` releases the terminal. The app blocks meanwhile.
    """
    try:
        argv = editor_command(command, os.environ)
    except ValueError as error:
        return f"Invalid editor command: {error}."
    if not argv or shutil.which(argv[0]) is None:
        return "No editor found; set ui.editor in the configuration, or $EDITOR."
    try:
        with suspend():
            status = run_there([*argv, *at_line(argv[0], file, line)])
    except (OSError, SuspendNotSupported) as error:
        return f"Could not start the editor {argv[0]}: {error}."
    return f"The editor {argv[0]} exited with status {status}." if status else ""


_WITH_COLON = ("code", "codium", "cursor", "subl", "hx", "helix", "zed")
_WITH_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "pico", "ex", "mg")


def at_line(editor: str, file: Path, line: int) -> list[str]:
    """Return the arguments that open the file at a line; unknown editors get the file alone."""
    name = Path(editor).name
    if not line or name not in (*_WITH_COLON, *_WITH_PLUS):
        return [str(file)]
    if name in _WITH_PLUS:
        return [f"+{line}", str(file)]
    place = f"{file}:{line}"
    return ["-g", place] if name in ("code", "codium", "cursor") else [place]
