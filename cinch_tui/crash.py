"""The last resort: what is written down and told when cinch itself fails."""

from __future__ import annotations

import logging
import platform
import time
import traceback
from pathlib import Path

from cinch_tui import __version__
from cinch_tui.private_file import write_private
from tools.text.control import harmless

LONGEST_REASON = 300

logger = logging.getLogger(__name__)


def report_crash(error: BaseException, folder: Path) -> str:
    """Write down where it failed, in a file of its own; the result is what to tell the person. Never raises.

    The values of variables stay out of the file: a key could be among them.
    """
    reason, trace = _reason(error), _encodable("".join(traceback.format_exception(error)))
    path = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    about = f"cinch {__version__}, Python {platform.python_version()}, {platform.platform()}"
    try:
        write_private(path, f"{about}\n\n{trace}")
    except OSError as problem:
        details = f"The details could not be written down: {problem.strerror}."
    else:
        details = f"The details are in {path}"
    # Where no log was begun, Python would print the line.
    if logger.hasHandlers():
        logger.critical("cinch failed: %s\n%s", reason, trace)
    return f"this is a fault of cinch, and it had to stop: {reason}. {details}"


def _reason(error: BaseException) -> str:
    said = " ".join(harmless(_encodable(str(error))).split())[:LONGEST_REASON]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _encodable(text: str) -> str:
    """Without the lone surrogates that someone else's text may hold and no file or terminal can."""
    return text.encode("utf-8", "backslashreplace").decode()
