"""Keyboard protocols of terminals: modes and legacy sequences.

The modes distinguish more keys than kitty's protocol, which Textual enables. Legacy sequences are converted to ones
that Textual parses correctly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# xterm's modifyOtherKeys, for keys without a sequence such as Shift+Enter; tmux forwards it. Other terminals may read
# it as a style, so a style reset follows.
_MODIFIED, _UNMODIFIED = "\x1b[>4;1m\x1b[m", "\x1b[>4m\x1b[m"
# By default xterm sends an accented letter for Alt and a letter; other terminals interpret this mode differently.
_ALT, _ALT_AS_BEFORE = "\x1b[?1036;1039s\x1b[?1036;1039h", "\x1b[?1036;1039r"
# st sends the sequence of F1 for Delete unless the keypad is in application mode.
_KEYPAD, _KEYPAD_AS_USUAL = "\x1b=", "\x1b>"


def enabling(environ: Mapping[str, str]) -> str:
    """Return the sequences that enable distinct keys in this terminal."""
    return _MODIFIED + (_ALT if _is_xterm(environ) else "") + (_KEYPAD if _is_st(environ) else "")


def restoring(environ: Mapping[str, str]) -> str:
    """Return the sequences that restore the modes, without leaving a style active."""
    return (_KEYPAD_AS_USUAL if _is_st(environ) else "") + (_ALT_AS_BEFORE if _is_xterm(environ) else "") + _UNMODIFIED


def is_in_konsole(environ: Mapping[str, str]) -> bool:
    """Return True if the keys come from Konsole itself, whose Shift+Enter is another key elsewhere."""
    return bool(environ.get("KONSOLE_VERSION")) and not _is_inside(environ)


def _is_xterm(environ: Mapping[str, str]) -> bool:
    is_xterm = environ.get("XTERM_VERSION") and environ.get("TERM", "").startswith("xterm")
    return bool(is_xterm) and not _is_inside(environ)


def _is_st(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "").partition("-")[0] == "st"


def _is_inside(environ: Mapping[str, str]) -> bool:
    """Return True inside tmux or GNU screen, which keep the environment of the terminal they were started in."""
    return bool(environ.get("TMUX") or environ.get("STY"))


ESC = "\x1b"

# rxvt, PuTTY and the Linux console send Esc before the key's sequence for Alt.
_WITH_ESC = re.compile(r"\x1b\x1b(?:[\[O](?P<letter>[A-DFH])|\[(?P<number>[1-8]|1[1-57-9]|2[0134])~)")
# rxvt encodes Shift and Ctrl in the final character, or in a lowercase one.
_RXVT = re.compile(
    r"\x1b(?P<alt>\x1b)?(?:\[(?P<number>[2-8])(?P<sign>[$^@])|\[(?P<shifted>[a-d])|O(?P<controlled>[a-d]))"
)
_SIGNS = {"$": 2, "^": 5, "@": 6}
_ENDS = {"7": "H", "8": "F"}
_ALT_MODIFIER = 2
# Shift+Enter in Konsole; in other terminals, Enter on the keypad.
_KONSOLE = re.compile(r"(?P<alt>\x1b)?\x1bOM")
# xterm's modifyOtherKeys, also used by tmux: the modifiers come first. Textual drops Alt in it.
_XTERM = re.compile(r"\x1b\[27;(?P<modifiers>\d+);(?P<code>\d+)~")
# The same in the format of kitty's protocol, as sent by mlterm, and by xterm with formatOtherKeys.
_BRIEF = re.compile(r"\x1b\[(?P<code>\d+);(?P<modifiers>\d+)u")
# Textual maps these numbers to letters.
_FUNCTION_KEYS = ("25", "26", "28", "29", "31", "32", "33", "34")
_FUNCTION = re.compile(rf"\x1b\[(?P<number>{'|'.join(_FUNCTION_KEYS)})~")
_SHIFT = 2
_BACKSPACE = {8: 127}


def translate_legacy_keys(text: str, *, in_konsole: bool = False) -> str:
    """Replace legacy key sequences in terminal input."""
    if ESC not in text:
        return text
    if in_konsole:
        text = _KONSOLE.sub(lambda match: f"\x1b[13;{4 if match['alt'] else 2}u", text)
    text = _RXVT.sub(_from_rxvt, text)
    text = _WITH_ESC.sub(_with_alt, text)
    text = _FUNCTION.sub(lambda match: f"\x1b[{57376 + _FUNCTION_KEYS.index(match['number'])}u", text)
    return _BRIEF.sub(_modified, _XTERM.sub(_modified, text))


def _with_alt(match: re.Match[str]) -> str:
    return f"\x1b[1;3{match['letter']}" if match["letter"] else f"\x1b[{match['number']};3~"


def _from_rxvt(match: re.Match[str]) -> str:
    alt = _ALT_MODIFIER if match["alt"] else 0
    if number := match["number"]:
        modifiers = _SIGNS[match["sign"]] + alt
        return f"\x1b[1;{modifiers}{_ENDS[number]}" if number in _ENDS else f"\x1b[{number};{modifiers}~"
    letter, modifiers = (match["shifted"], 2) if match["shifted"] else (match["controlled"], 5)
    return f"\x1b[1;{modifiers + alt}{letter.upper()}"


def _modified(match: re.Match[str]) -> str:
    modifiers, code = int(match["modifiers"]), int(match["code"])
    code = _BACKSPACE.get(code, code)
    character = chr(code) if code < 0x110000 else ""
    if modifiers <= _SHIFT and character >= " " and character.isprintable():
        return character
    # The modifiers encode Shift; the code is the unshifted character.
    return f"\x1b[{ord(character.lower()) if character.isascii() else code};{modifiers}u"
