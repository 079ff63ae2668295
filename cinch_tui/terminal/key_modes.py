"""What a terminal is asked for so that more keys can be told apart, beside kitty's protocol, for which Textual asks."""

from __future__ import annotations

from collections.abc import Mapping

# xterm's modifyOtherKeys, for keys that have no bytes of their own, as Shift+Enter; tmux hands it on. A terminal that
# does not know it may take it for a style: that ends at once.
_MODIFIED, _UNMODIFIED = "\x1b[>4;1m\x1b[m", "\x1b[>4m\x1b[m"
# xterm sends an accented letter for Alt and a letter, unless it is told otherwise; others take this for something else.
_ALT, _ALT_AS_BEFORE = "\x1b[?1036;1039s\x1b[?1036;1039h", "\x1b[?1036;1039r"
# st sends what others send for F1 when Delete is pressed, unless the keypad is an application's.
_KEYPAD, _KEYPAD_AS_USUAL = "\x1b=", "\x1b>"


def asked(environ: Mapping[str, str]) -> str:
    """What makes this terminal tell more keys apart."""
    return _MODIFIED + (_ALT if _is_xterm(environ) else "") + (_KEYPAD if _is_st(environ) else "")


def given_back(environ: Mapping[str, str]) -> str:
    """What takes that back; it leaves no style behind."""
    return (_KEYPAD_AS_USUAL if _is_st(environ) else "") + (_ALT_AS_BEFORE if _is_xterm(environ) else "") + _UNMODIFIED


def is_in_konsole(environ: Mapping[str, str]) -> bool:
    """Whether keys come from Konsole itself, which sends for Shift+Enter what is another key elsewhere."""
    return bool(environ.get("KONSOLE_VERSION")) and not _is_inside(environ)


def _is_xterm(environ: Mapping[str, str]) -> bool:
    return (
        bool(environ.get("XTERM_VERSION")) and environ.get("TERM", "").startswith("xterm") and not _is_inside(environ)
    )


def _is_st(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "").partition("-")[0] == "st"


def _is_inside(environ: Mapping[str, str]) -> bool:
    """In tmux or GNU screen, which have the environment of the terminal that they were begun in."""
    return bool(environ.get("TMUX") or environ.get("STY"))
