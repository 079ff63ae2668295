"""The log file: for those who look for a fault, never for the screen."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

OURS = ("harness", "providers", "tools", "cinch_tui")
MAX_BYTES = 5_000_000
MOST_RECENT = 2_000
KEPT_RECENT = 1_200

logger = logging.getLogger(__name__)


class PrivateFileHandler(logging.FileHandler):
    """A log file that only its owner may read, made when there is something to write.

    A log that cannot be written must not disturb the work it tells of, so failures are silent.
    """

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_BYTES:
            path.replace(path.with_suffix(".old.log"))
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 the name is logging's
        del record


class RecentRecords(logging.Handler):
    """The last records of this process, for who wants to look while it runs. Never more than `MOST_RECENT` of them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        # Not one by one: what is cut off at the front costs as much as all that stays.
        if len(self.records) >= MOST_RECENT:
            del self.records[:-KEPT_RECENT]
        self.records.append(record)


def recent_records() -> RecentRecords:
    """Those that are kept since the start; where nobody has begun to keep them, from now on."""
    root = logging.getLogger()
    kept = next((handler for handler in root.handlers if isinstance(handler, RecentRecords)), None)
    if kept is None:
        kept = RecentRecords()
        root.addHandler(kept)
    return kept


def start_logging(path: Path, *, verbose: bool) -> None:
    """Send warnings to the file; `verbose` adds what our own modules tell.

    What a thread fails of that nobody waits for is told, too: Python itself would write it across the screen.
    Others' details stay out in any case: an HTTP library's contain headers, and headers contain keys.
    """
    handler = PrivateFileHandler(path, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    recent_records()
    root.setLevel(logging.WARNING)
    threading.excepthook = _log_failure
    if verbose:
        for name in OURS:
            logging.getLogger(name).setLevel(logging.DEBUG)


def _log_failure(failed: threading.ExceptHookArgs) -> None:
    what = (failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    logger.error("the thread %s failed", failed.thread.name if failed.thread else "of somebody", exc_info=what)
