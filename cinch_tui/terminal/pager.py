"""Viewing the whole conversation in the user's pager, with the terminal's own search and selection."""

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
    """Show the text until the user quits the pager; return an error message, or an empty string.

    `suspend` releases the terminal. The app blocks meanwhile.
    """
    try:
        argv = pager_command(os.environ)
    except ValueError as error:
        return f"Invalid $PAGER: {error}."
    if not argv or shutil.which(argv[0]) is None:
        return f"Pager {argv[0]} not found; set $PAGER." if argv else "No pager found;  set $PAGER."
    with tempfile.TemporaryDirectory(prefix="cinch-") as folder:
        file = Path(folder) / "conversation.txt"
        try:
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8", errors="replace")
            with suspend():
                status = run_there([*argv, str(file)])
        except (OSError, SuspendNotSupported) as error:
            return f"Could not start the pager {argv[0]}: {error}."
    return f"The pager {argv[0]} exited with status {status}." if status else ""


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Return the pager command as a list of arguments; empty if none was found. `less` starts at the end.

    Raises:
        ValueError: unclosed quotes.
    """
    argv = shlex.split(environ.get("PAGER", ""))
    argv = argv or [name for name in USUAL_PAGERS if shutil.which(name)][:1]
    # With -F, as set by git and others, less would quit immediately after a short text.
    return [*argv, "-+F", "+G"] if argv and Path(argv[0]).name == "less" else argv
