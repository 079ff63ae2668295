"""Keyboard modes that distinguish more keys, in addition to kitty's protocol, which Textual enables."""

from __future__ import annotations

from collections.abc import Mapping

# xterm's modifyOtherKeys, for keys without a sequence such as Shift+Enter; tmux forwards it. Other terminals may read
# it as a style, so a style reset follows.
_MODIFIED, _UNMODIFIED = "\x1b[>4;1m\x1b[m", "\x1b[>4m\x1b[m"
# By default xterm sends an accented letter for Alt and a letter; other terminals interpret this mode differently.
_ALT, _ALT_AS_BEFORE = "\x1b[?1036;1039s\x1b[?1036;1039h", "\x1b[?1036;1039r"
# st sends the sequence of F1 for Delete unless the keypad is in application mode.
_KEYPAD, _KEYPAD_AS_USUAL = "\x1b=", "\x1b>"


def asked(environ: Mapping[str, str]) -> str:
    """Return the sequences that enable distinct keys in this terminal."""
    return _MODIFIED + (_ALT if _is_xterm(environ) else "") + (_KEYPAD if _is_st(environ) else "")


def given_back(environ: Mapping[str, str]) -> str:
    """Return the sequences that restore the modes, without leaving a style active."""
    return (_KEYPAD_AS_USUAL if _is_st(environ) else "") + (_ALT_AS_BEFORE if _is_xterm(environ) else "") + _UNMODIFIED


def is_in_konsole(environ: Mapping[str, str]) -> bool:
    """Return True if the keys come from Konsole itself, whose Shift+Enter is another key elsewhere."""
    return bool(environ.get("KONSOLE_VERSION")) and not _is_inside(environ)


def _is_xterm(environ: Mapping[str, str]) -> bool:
    return (
        bool(environ.get("XTERM_VERSION")) and environ.get("TERM", "").startswith("xterm") and not _is_inside(environ)
    )


def _is_st(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM", "").partition("-")[0] == "st"


def _is_inside(environ: Mapping[str, str]) -> bool:
    """Return True inside tmux or GNU screen, which keep the environment of the terminal they were started in."""
    return bool(environ.get("TMUX") or environ.get("STY"))
