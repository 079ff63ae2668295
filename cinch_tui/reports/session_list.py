"""Details of a session in a list: its age, and where it is open."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.session.index import SessionSummary

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def ago(moment: float, now: float) -> str:
    """Return the age of a time in words, or its date if that was more than a week ago."""
    seconds = max(0.0, now - moment)
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return _counted(seconds / MINUTE, "minute")
    if seconds < DAY:
        return _counted(seconds / HOUR, "hour")
    if seconds < 7 * DAY:
        return _counted(seconds / DAY, "day")
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d")


def place_of(summary: SessionSummary, current: str) -> str:
    """Return where a session is open; empty for nowhere. `current` is the id of the session that is open here."""
    if summary.id == current:
        return "this session"
    return "open elsewhere" if summary.locked else ""


def _counted(number: float, unit: str) -> str:
    whole = int(number)
    return f"{whole} {unit}{'' if whole == 1 else 's'} ago"
