"""Keys of a terminal: their names, and the characters that they send.

Names of tmux (`C-c`, `BSpace`, `PPage`), of Emacs (`M-x`) and with `+` (`ctrl+c`) are accepted as well.
"""

from __future__ import annotations

import re

NAMED = {
    "enter": "\r", "tab": "\t", "shift-tab": "\x1b[Z", "escape": "\x1b", "space": " ", "backspace": "\x7f",
    "insert": "\x1b[2~", "delete": "\x1b[3~", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
    "home": "\x1b[H", "end": "\x1b[F", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
    "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
    "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}  # fmt: skip
_ALIASES = {
    "return": "enter", "cr": "enter", "esc": "escape", "btab": "shift-tab", "shifttab": "shift-tab",
    "bspace": "backspace", "bs": "backspace", "del": "delete", "dc": "delete", "ins": "insert", "ic": "insert",
    "ppage": "pageup", "pgup": "pageup", "npage": "pagedown", "pgdn": "pagedown",
    "arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right",
}  # fmt: skip
_MODIFIED = re.compile(r"(?i)(?:(ctrl|control|c|alt|meta|m)[-+]|\^)(.+)", re.DOTALL)
_CONTROLS = {" ": "\0", "space": "\0", "@": "\0", "[": "\x1b", "\\": "\x1c", "]": "\x1d", "^": "\x1e", "_": "\x1f"}
_IN_TEXT = re.compile(r"<([^<>\s]{2,20})>")
_APPLICATION = {f"\x1b[{letter}": f"\x1bO{letter}" for letter in "ABCDHF"}


def characters_of(key: str, *, application: bool = False) -> str | None:
    """Return the characters that a key sends; None if there is no such key.

    Args:
        key: Name of the key, or a single character.
        application: True if the program has set the application mode for cursor keys.
    """
    found = _characters(key)
    return _APPLICATION.get(found, found) if found and application else found


def typed_characters(text: str, *, application: bool = False) -> str:
    """Return the characters of a text in which keys are written as `<escape>` or `<ctrl-c>`."""
    return _IN_TEXT.sub(lambda found: characters_of(found[1], application=application) or found[0], text)


def _characters(key: str) -> str | None:
    if len(key) == 1:
        return key
    key = key.removeprefix("<").removesuffix(">")
    name = key.lower()
    plain = re.sub("[-_+ ]", "", name)
    if found := NAMED.get(name) or NAMED.get(_ALIASES.get(plain, plain)):
        return found
    modified = _MODIFIED.fullmatch(key)
    if modified is None:
        return None
    kind, rest = (modified[1] or "ctrl").lower(), modified[2]
    if kind in ("alt", "meta", "m"):
        inner = _characters(rest)
        return None if inner is None else f"\x1b{inner}"
    if len(rest) == 1 and rest.isascii() and rest.isalpha():
        return chr(ord(rest.lower()) - ord("a") + 1)
    return _CONTROLS.get(rest.lower())
