"""Untrusted text made safe to print in a terminal."""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
# C0, C1, line separators and bidirectional overrides; line feed and tab stay.
_CONTROL = re.compile(f"[{_CONTROLS}]")
# Also direction marks, and surrogates, which no terminal's encoding can carry.
_UNSAFE = re.compile(f"[{_CONTROLS}\u061c\u200e\u200f\ud800-\udfff]")
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # device control strings
    r"|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]"
)


def escape_controls(text: str) -> str:
    """Replace every character that a terminal would interpret with a visible one; line feeds and tabs stay."""
    return _UNSAFE.sub(_visible, text) if _UNSAFE.search(text) else text


def strip_escapes(text: str) -> str:
    """Remove complete escape sequences, turn CRLF into LF, and make the remaining control characters visible.

    Direction marks stay: they are part of right-to-left text, which a model reads as well.
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(_visible, _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n"))


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"
