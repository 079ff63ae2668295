"""cinch as a process, without a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fakes.fork_server import can_fork, run_forked

CINCH = (sys.executable, "-m", "cinch_tui")


def run(command: Sequence[str], *, cwd: Path | None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return a finished process with its output; `environment` is added to that of the tests."""
    if tuple(command[: len(CINCH)]) == CINCH and can_fork(environment):
        return run_forked(command[len(CINCH) :], cwd=cwd or Path.cwd(), env={**os.environ, **environment}, timeout=120)
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
