"""Names of keys: the spelling of Textual, and the spelling for users. Loads no screen."""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase, digits, punctuation
from unicodedata import name as unicode_name

from cinch_tui.fuzzy_match import did_you_mean

_MODIFIER_NAMES = {
    "ctrl": ("ctrl", "control", "ctl", "c"),
    "alt": ("alt", "option", "opt", "meta", "m"),
    "shift": ("shift", "s"),
    "super": ("super", "cmd", "command", "win"),
}
MODIFIERS = {name: modifier for modifier, names in _MODIFIER_NAMES.items() for name in names}
_ORDER = ("alt", "ctrl", "hyper", "meta", "shift", "super")
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "cr": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "del": "delete",
    "ins": "insert",
    "bs": "backspace",
    "spc": "space",
    "←": "left",
    "→": "right",
    "↑": "up",
    "↓": "down",
}
# Textual shortens these names of Unicode's.
_SHORT = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}


def _sign_name(sign: str) -> str:
    spelled = unicode_name(sign).lower().replace("-", "_").replace(" ", "_")
    return _SHORT.get(spelled, spelled)


SIGNS = {_sign_name(sign): sign for sign in punctuation}
_NAMED = (
    *("enter", "tab", "escape", "space", "backspace", "delete", "insert"),
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    *(f"f{number}" for number in range(1, 25)),
)
_KNOWN = {*_NAMED, *SIGNS, *ascii_letters, *digits}
_SAME = {f"ctrl+{key}": same for key, same in (("i", "tab"), ("m", "enter"), ("left_square_bracket", "escape"))}
_SHOWN = {
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    **SIGNS,
}


def key_label(key: str) -> str:
    """Return the label of a key: `shift+enter` is Shift+Enter."""
    if len(key) == 1:
        return key
    return "+".join(_SHOWN.get(part, part.capitalize()) for part in key.split("+"))


def is_printable(key: str) -> bool:
    """Return True if the key inserts a character into text."""
    return len(key) == 1 or key == "space" or key in SIGNS


def read_key(text: str) -> str:
    """Parse a key such as `Ctrl+X`, `alt-enter`, `PgUp` or `?` into the spelling of Textual.

    Raises:
        ValueError: the key is unknown, or terminals send another key for it.
    """
    *before, last = _parts(text.strip())
    if unknown := [part for part in before if part.lower() not in MODIFIERS]:
        raise ValueError(f"{text!r} is not a key: {unknown[0]!r} is not one of Ctrl, Alt, Shift and Super")
    modifiers = {MODIFIERS[part.lower()] for part in before}
    key = _key_alone(last, is_chord=bool(modifiers))
    if modifiers == {"shift"} and key in ascii_lowercase:
        return key.upper()
    spelled = "+".join([*(each for each in _ORDER if each in modifiers), key])
    if spelled in _SAME:
        raise ValueError(f"most terminals send the same code for {text!r} and {key_label(_SAME[spelled])}")
    return spelled


def _parts(text: str) -> list[str]:
    """The modifiers and the key; either sign that joins them may be the key itself."""
    if len(text) > 2 and text[-1] in "+-" and text[-2] in "+-":
        return [*re.split(r"[ ]*[+-][ ]*", text[:-2]), text[-1]]
    return re.split(r"[ ]*[+-][ ]*", text) if len(text) > 1 else [text]


def _key_alone(text: str, *, is_chord: bool) -> str:
    if len(text) == 1:
        if text in _ALIASES:
            return _ALIASES[text]
        if text in punctuation:
            return _sign_name(text)
        return text.lower() if is_chord else text
    if not text:
        raise ValueError("the name of the key is missing")
    name = re.sub(r"page[ _]?", "page", text.lower()).replace(" ", "_")
    name = _ALIASES.get(name, name)
    if name in _KNOWN:
        return name
    raise ValueError(f"{text!r} is not a key{did_you_mean(name, (*_NAMED, *_ALIASES, *SIGNS))}")
