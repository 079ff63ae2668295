"""Removal of control characters from text for the terminal."""

from __future__ import annotations

import re

from harness.terminal_text import escape_controls

harmless = escape_controls
"""Replace all control characters by visible symbols; newlines and tabs stay."""

TAB = 4
LONGEST_LINE = 4_000
"""Maximum number of characters shown of a line, unless it must be shown completely."""

# Zero-width and blank characters: soft hyphens, joiners, fillers, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_EMOJI = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001fbff])(\ufe0f|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001fbff]))"
)


def marked(text: str) -> str:
    """Sanitize the text and show each invisible character as its code point, except emoji joiners."""
    if _INVISIBLE.search(text):
        joints = {found.start() for found in _EMOJI.finditer(text)}
        text = _INVISIBLE.sub(lambda found: found[0] if found.start() in joints else f"⟨U+{ord(found[0]):04X}⟩", text)
    return harmless(text)
