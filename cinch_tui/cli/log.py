"""The log file of cinch; nothing is logged to the screen."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

OURS = ("harness", "http_client", "providers", "tools", "extensions", "cinch_tui")
MAX_BYTES = 5_000_000
MOST_RECENT = 2_000
KEPT_RECENT = 1_200

logger = logging.getLogger(__name__)


class PrivateFileHandler(logging.FileHandler):
    """Log file that only its owner can read, created by the first record.

    Errors are ignored: a log that cannot be written must not interrupt the work.
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

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 name given by logging
        del record


class RecentRecords(logging.Handler):
    """The latest records of this process, for the log panel; at most `MOST_RECENT`."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        # In batches, since deleting at the front copies all remaining records.
        if len(self.records) >= MOST_RECENT:
            del self.records[:-KEPT_RECENT]
        self.records.append(record)


def recent_records() -> RecentRecords:
    """Return the handler that keeps the latest records; install it if it is missing."""
    root = logging.getLogger()
    kept = next((handler for handler in root.handlers if isinstance(handler, RecentRecords)), None)
    if kept is None:
        kept = RecentRecords()
        root.addHandler(kept)
    return kept


def start_logging(path: Path, *, verbose: bool) -> None:
    """Log warnings to the file; `verbose` adds debug records of cinch's own modules.

    Exceptions of threads are logged as well: Python would print them over the screen. Debug records of other packages
    are never logged: an HTTP library's contain headers, and headers contain keys.
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
    exc_info = (failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback)
    logger.error("thread %s failed", failed.thread.name if failed.thread else "(unknown)", exc_info=exc_info)
