"""Short texts for all front ends: costs, ages, hints in errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.approval.modes import ApprovalMode
    from harness.session.index import SessionSummary


def format_cost(cost: float | None) -> str:
    """Format a cost in US dollars with four decimals, or as "free" or "cost unknown"."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.4f}" if cost else "free"


def format_size(count: int) -> str:
    """Format a number of bytes, in at most seven characters from 1 kB to 9 TB."""
    if count < 1_000:
        return f"{count} bytes"
    if count < 1_000_000:
        return f"{count / 1_000:.0f} kB"
    number, unit = (count / 1_000_000, "MB") if count < 1_000_000_000 else (count / 1_000_000_000, "GB")
    return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"


def short_count(count: int) -> str:
    """Format a number in at most four characters, such as "950", "9.5k", "168k" or "1.2M"."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size - size // 2_000:
            number = count / size
            return f"{number:.1f}".removesuffix(".0") + unit if number < 9.95 else f"{number:.0f}{unit}"
    return str(count)


_HINTS = (
    (re.compile(r"pass api_key= to connect\(\) for ([\w.-]+)"), r"enter it with #key \1"),
    (re.compile(r"pass base_url= to connect\(\)"), "start cinch with --base-url"),
    (re.compile(r'list_models\("([\w.-]+)"\) lists'), r"cinch models \1 lists"),
)


def app_hints(text: str) -> str:
    """An error text of the library, with commands and options of the app instead of Python arguments."""
    for pattern, hint in _HINTS:
        text = pattern.sub(hint, text)
    return text


APPROVAL_MEANINGS: Mapping[ApprovalMode, str] = {
    "on": "every call needs approval, reads included",
    "smart": "calls that change files or run programs need approval",
    "edits": "programs and changes outside the workspace need approval",
    "off": "no call needs approval",
}
DAY = 86_400
UNITS = (("day", DAY), ("hour", 3_600), ("minute", 60))


def ago(moment: float, now: float) -> str:
    """Return the age of a time in words, or its date if that was more than a week ago."""
    seconds = max(0.0, now - moment)
    if seconds >= 7 * DAY:
        return datetime.fromtimestamp(moment).strftime("%Y-%m-%d")
    for unit, size in UNITS:
        if count := int(seconds / size):
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def open_state(summary: SessionSummary, current: str) -> str:
    """Return where a session is open; empty for nowhere. `current` is the id of the session that is open here."""
    if summary.id == current:
        return "this session"
    return "open elsewhere" if summary.locked else ""
