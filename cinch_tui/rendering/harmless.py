"""Text with nothing left in it that a terminal would obey."""

from __future__ import annotations

import re

TAB = 4
LONGEST_LINE = 4_000
"""Characters of a line that are shown, unless it has to be shown in full."""

# What could move the cursor, change the terminal's state or reorder what is read: C0, C1, bidi and line separators,
# and halves of surrogate pairs, which no terminal's encoding can carry.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


# Letters that take no room or leave none to see: soft hyphens, joiners, fillers, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_EMOJI = re.compile(
    "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001fbff])(\ufe0f|\u200d(?=[\u2190-\u2bff\U0001f000-\U0001fbff]))"
)


def marked(text: str) -> str:
    """The text made harmless, with every invisible character shown by its number, except those that join emoji."""
    if _INVISIBLE.search(text):
        joints = {found.start() for found in _EMOJI.finditer(text)}
        text = _INVISIBLE.sub(lambda found: found[0] if found.start() in joints else f"⟨U+{ord(found[0]):04X}⟩", text)
    return harmless(text)


def harmless(text: str) -> str:
    """The text with nothing left in it that a terminal would obey; newlines and tabs stay."""
    return _UNSAFE.sub(_visible, text) if _UNSAFE.search(text) else text


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"
