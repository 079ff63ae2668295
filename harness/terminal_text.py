"""Untrusted text made safe to print in a terminal."""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
# C0, C1, line separators and bidirectional overrides; line feed and tab stay.
_CONTROL = re.compile(f"[{_CONTROLS}]")
# Direction marks, soft hyphens, joiners, fillers, variation selectors and tags; and surrogates, which no terminal's
# encoding can carry.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u2800\u3164\ud800-\udfff"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U00013430-\U00013455\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[{_CONTROLS}{_INVISIBLE}]+")

_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u27ff\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff"
# Letters that joiners connect or separate: Arabic and its relatives, Indic scripts.
_JOINED = "\u0600-\u061b\u061d-\u07ff\u0840-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\ufb50-\ufdff\ufe70-\ufefc"
_FLAGS = ("gbeng", "gbsct", "gbwls")
_TAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in flag) for flag in _FLAGS)
# Parts of what is visible: of emoji, of letters in such scripts, and of pictures in braille.
_VISIBLE_PART = re.compile(
    f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=\U0001f3f4)(?:{_TAGS})\U000e007f|(?<=[{_JOINED}])[\u200c\u200d]|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
    "|(?<=[\u2801-\u28ff])\u2800+|\u2800+(?=[\u2801-\u28ff])"
)
# End of a fragment that the next one may make part of something visible.
_OPEN_END = re.compile("(?:[\u200d\ufe0f]|\U0001f3f4[\U000e0061-\U000e007a]{0,5}|\u2800+)\\Z")

_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # device control strings
    r"|\x1b[ -/]+[0-~]|\x1b[0-OQ-WYZ\\`-~]"
)


def escape_controls(text: str) -> str:
    """Replace each character that a terminal would interpret or not show with a visible one, or with its code point.

    Line feeds and tabs stay, and so do joiners and selectors that are part of an emoji or of a letter.
    """
    # Twice as fast for most text.
    unsafe = _CONTROL if text.isascii() else _UNSAFE
    return _UNSAFE.sub(_shown, text) if unsafe.search(text) else text


class FragmentEscaper:
    """`escape_controls` for a text that arrives in fragments, which may split an emoji."""

    def __init__(self) -> None:
        self._before = ""
        """Last character, on which the next one may depend."""
        self._held = ""
        """End of the text that is not escaped yet."""

    def add(self, fragment: str) -> str:
        """Return the next part of the escaped text."""
        text = self._held + fragment
        found = _OPEN_END.search(text)
        end = found.start() if found else len(text)
        self._held = text[end:]
        return self._escaped(text[:end])

    def end(self) -> str:
        """Return the rest of the escaped text."""
        held, self._held = self._held, ""
        shown = self._escaped(held)
        self._before = ""
        return shown

    def _escaped(self, text: str) -> str:
        if not text:
            return ""
        if _UNSAFE.search(text) is None:
            shown = text
        else:
            before = escape_controls(self._before)
            shown = escape_controls(self._before + text)[len(before) :]
        self._before = text[-1]
        return shown


def remove_escapes(text: str) -> str:
    """Remove complete escape sequences."""
    return _ESCAPE_SEQUENCE.sub("", text)


def strip_escapes(text: str) -> str:
    """Remove complete escape sequences, turn CRLF into LF, and make the remaining control characters visible.

    Direction marks stay: they are part of right-to-left text, which a model reads as well.
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda found: _name(found[0]), remove_escapes(text).replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    text, place, end = found.string, found.start(), found.end()
    shown: list[str] = []
    while place < end:
        part = _VISIBLE_PART.match(text, place)
        shown.append(part[0] if part else _name(text[place]))
        place = part.end() if part else place + 1
    return "".join(shown)


def _name(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
