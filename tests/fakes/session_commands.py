"""`cinch sessions` in this process."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands import sessions

Run = Callable[..., tuple[int, str, str]]
"""Runs a command with its arguments; returns the exit status, the output and the error output."""


def runner(cwd: Path) -> Run:
    """Return a function that runs `cinch sessions` in a folder."""

    def run_command(*argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stderr(err):
            status = sessions.run(list(argv), cwd, Output(out))
        return status, out.getvalue(), err.getvalue()

    return run_command
