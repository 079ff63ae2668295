"""Opening files and URLs on the desktop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

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
    return _start(viewer(os.environ, sys.platform), target)


def open_in_browser(url: str) -> bool:
    """Open a URL in the browser of `BROWSER`, else of the desktop; return False without either.

    A browser that another machine would show is not started.
    """
    own = os.environ.get("BROWSER", "").split(os.pathsep)[0].split()
    if any("%s" in word for word in own):
        return _start([word.replace("%s", url) for word in own])
    is_remote = sys.platform == "darwin" and "SSH_CONNECTION" in os.environ
    return _start(own or ([] if is_remote else viewer(os.environ, sys.platform)), url)


def _start(command: Sequence[str], *targets: str) -> bool:
    if not command:
        return False
    # Some viewers run until they are closed; the thread reaps the process.
    threading.Thread(target=_run, args=([*command, *targets],), name="viewer", daemon=True).start()
    return True


def _run(command: Sequence[str]) -> None:
    quiet = subprocess.DEVNULL
    try:
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, check=False)
    except OSError:
        return
