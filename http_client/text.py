"""Texts of servers, cleaned for display."""

from __future__ import annotations

import re

LONGEST_MESSAGE = 600
"""Maximum length of a text in an error, in characters."""
_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+"


def plain(text: str) -> str:
    """Return text as one line of limited length without characters that a terminal would interpret."""
    line = re.sub(r"\s+", " ", re.sub(_UNPRINTABLE, " ", text)).strip()
    return line if len(line) <= LONGEST_MESSAGE else line[:LONGEST_MESSAGE] + "…"
