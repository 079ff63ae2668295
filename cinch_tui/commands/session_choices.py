"""Sessions of a folder as completions. A thread reads their titles, since each key asks for completions."""

from __future__ import annotations

import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.commands.registry import Choice
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.session_list import ago

if TYPE_CHECKING:
    from harness.session.index import SessionSummary

_MOST = 50
_FRESH_S = 2.0
_FIRST_WAIT_S = 0.05
"""Seconds that the first completion waits for the titles: enough unless the disk is slow."""


@cache
def session_choices(data_dir: Path, cwd: Path) -> SessionChoices:
    """Return the sessions of a folder, read again when they are outdated."""
    return SessionChoices(data_dir, cwd)


class SessionChoices:
    def __init__(self, data_dir: Path, cwd: Path) -> None:
        self._data_dir = data_dir
        self._cwd = cwd
        self._found: list[SessionSummary] = []
        self._reader: threading.Thread | None = None
        self._read_at = 0.0

    def newest_first(self, current: str) -> tuple[Choice, ...]:
        """Return the sessions by id, shown by title, without the open one (`current`)."""
        self._keep_fresh()
        now = time.time()
        return tuple(_choice(summary, now) for summary in self._found if summary.id != current)

    def join(self) -> None:
        """Wait until the reading thread has finished."""
        if self._reader is not None:
            self._reader.join()

    def _keep_fresh(self) -> None:
        first = self._reader is None
        if self._reader is not None and (self._reader.is_alive() or time.monotonic() - self._read_at < _FRESH_S):
            return
        self._reader = threading.Thread(target=self._read, name="session-titles", daemon=True)
        self._reader.start()
        if first:
            self._reader.join(_FIRST_WAIT_S)

    def _read(self) -> None:
        from harness.session.index import list_sessions

        self._found = list_sessions(self._data_dir, self._cwd, limit=_MOST)
        self._read_at = time.monotonic()


def _choice(summary: SessionSummary, now: float) -> Choice:
    detail = f"{summary.id[:8]} · {ago(summary.updated, now)}"
    return Choice(summary.id, detail, shown=one_line(summary.title))
