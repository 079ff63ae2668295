"""Text with nothing left in it that a terminal would obey."""

from __future__ import annotations

import re

TAB = 4

# What could move the cursor, change the terminal's state or reorder what is read: C0, C1, bidi and line separators,
# and halves of surrogate pairs, which no terminal's encoding can carry.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """The text with nothing left in it that a terminal would obey; newlines and tabs stay."""
    return _UNSAFE.sub(_visible, text) if _UNSAFE.search(text) else text


def _visible(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"
