"""Crash reports of cinch."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import time
import traceback
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from cinch_tui import __version__
from cinch_tui.config.paths import write_private
from harness.terminal_text import strip_escapes

MAX_REASON_CHARS = 300
LOG = "cinch.log"
LOG_LINES = 30
LOG_BYTES = 20_000
PACKAGES = ("textual", "rich", "httpx", "pydantic")
TERMINAL_VARIABLES = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR", "LANG", "LC_ALL")

logger = logging.getLogger(__name__)


def report_crash(error: BaseException, folder: Path) -> str:
    """Write a crash report and return the message for the user. Never raises.

    The report contains no values of variables, which could include API keys.

    Args:
        error: the exception.
        folder: folder of the report and of the log file.
    """
    reason, trace = _reason(error), _encodable("".join(traceback.format_exception(error)))
    path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    try:
        write_private(
            path, "\n\n".join((_environment(), trace.rstrip(), "End of the log:", _end_of_log(folder))) + "\n"
        )
    except OSError as problem:
        details = f"The crash report could not be written: {problem.strerror}."
    else:
        details = f"Crash report: {path}"
    # Without a handler, Python would print the record.
    if logger.hasHandlers():
        logger.critical("cinch failed: %s\n%s", reason, trace)
    return f"internal error: {reason}. {details}"


def _environment() -> str:
    """Describe versions and terminal on printable lines."""
    versions: list[str] = []
    for part in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append(f"{part} {metadata.version(part)}")
    columns, rows = shutil.get_terminal_size()
    inside = [name for name in ("TMUX", "STY", "SSH_TTY") if name in os.environ]
    named = [f"{name}={os.environ[name]}" for name in TERMINAL_VARIABLES if name in os.environ]
    return strip_escapes(
        f"cinch {__version__}, {', '.join(versions)}\n"
        f"Python {platform.python_version()}, {platform.platform()}\n"
        f"terminal {columns} x {rows}: {' '.join(named)}{' in ' if inside else ''}{', '.join(inside)}"
    )


def _end_of_log(folder: Path) -> str:
    try:
        with (folder / LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return "(no log file)"
    return strip_escapes("\n".join(text.splitlines()[-LOG_LINES:]))


def _reason(error: BaseException) -> str:
    message = " ".join(strip_escapes(_encodable(str(error))).split())[:MAX_REASON_CHARS]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _encodable(text: str) -> str:
    """Escape lone surrogates, which files and terminals cannot represent."""
    return text.encode("utf-8", "backslashreplace").decode()
