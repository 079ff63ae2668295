"""Reading the whole conversation in the person's own pager, where the terminal's own search and copying work."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported

from cinch_tui.terminal.editor import run_there

USUAL_PAGERS = ("less", "more")


def page(text: str, suspend: Callable[[], AbstractContextManager[None]]) -> str:
    """Show the text until the person leaves; what went wrong, or nothing.

    `suspend` gives the terminal away while it is entered. The app stands still meanwhile.
    """
    try:
        argv = pager_command(os.environ)
    except ValueError as error:
        return f"$PAGER cannot be read: {error}."
    if not argv or shutil.which(argv[0]) is None:
        return f"The pager {argv[0]} was not found; set $PAGER." if argv else "No pager was found; set $PAGER."
    with tempfile.TemporaryDirectory(prefix="cinch-") as folder:
        file = Path(folder) / "conversation.txt"
        try:
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8", errors="replace")
            with suspend():
                status = run_there([*argv, str(file)])
        except (OSError, SuspendNotSupported) as error:
            return f"The pager {argv[0]} could not be started: {error}."
    return f"The pager {argv[0]} ended with status {status}." if status else ""


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """The pager as a list of words; empty when there is none. `less` begins at the end, where the news are.

    Raises:
        ValueError: its quotes are not closed.
    """
    argv = shlex.split(environ.get("PAGER", ""))
    argv = argv or [name for name in USUAL_PAGERS if shutil.which(name)][:1]
    # Less with -F, as git and others set it, would show a short text and be gone before it is read.
    return [*argv, "-+F", "+G"] if argv and Path(argv[0]).name == "less" else argv
