"""What old terminals send for a key, spelled as newer ones do, which Textual reads without a mistake."""

from __future__ import annotations

import re

ESC = "\x1b"

# rxvt, PuTTY and the Linux console: Alt is an Esc before the key's own sequence.
_WITH_ESC = re.compile(r"\x1b\x1b(?:[\[O](?P<letter>[A-DFH])|\[(?P<number>[1-8])~)")
# xterm's modifyOtherKeys, which tmux speaks too: the modifiers come first. Textual loses Alt in it.
_XTERM = re.compile(r"\x1b\[27;(?P<modifiers>\d+);(?P<code>\d+)~")
# Textual takes these numbers for letters.
_FUNCTION = re.compile(r"\x1b\[(?P<number>25|26|28|29|31|32|33|34)~")
_FUNCTION_CODES = {
    number: 57376 + place for place, number in enumerate(("25", "26", "28", "29", "31", "32", "33", "34"))
}
_SHIFT = 2


def spelled_anew(text: str) -> str:
    """What a terminal sent, with keys in old spellings replaced."""
    if ESC not in text:
        return text
    text = _WITH_ESC.sub(_with_alt, text)
    text = _FUNCTION.sub(lambda match: f"\x1b[{_FUNCTION_CODES[match['number']]}u", text)
    return _XTERM.sub(_modified, text)


def _with_alt(match: re.Match[str]) -> str:
    return f"\x1b[1;3{match['letter']}" if match["letter"] else f"\x1b[{match['number']};3~"


def _modified(match: re.Match[str]) -> str:
    modifiers, code = int(match["modifiers"]), int(match["code"])
    character = chr(code) if code < 0x110000 else ""
    if modifiers <= _SHIFT and character > " " and character.isprintable():
        return character
    # Shift is told by the modifiers, and the letter is the one on the key.
    return f"\x1b[{ord(character.lower()) if character.isascii() else code};{modifiers}u"
