"""Compact SGR sequences: only changes of the style are written.

Textual writes the complete style before and a reset after every piece of text, half of its output.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

PLAIN = "\x1b[0m"
# Codes followed by the type and components of a color.
_COLOURS = {"38": "fore", "48": "back", "58": "under"}
_NUMBERS = {"2": 3, "5": 1}
_FORE = {"39", *map(str, range(30, 38)), *map(str, range(90, 98))}
_BACK = {"49", *map(str, range(40, 48)), *map(str, range(100, 108))}
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"(?:\n|\x1b\[[0-9;]*H)*")


class _Look(NamedTuple):
    """Foreground and background color codes, empty for the terminal's default, and all other codes in order."""

    fore: str = ""
    back: str = ""
    rest: tuple[str, ...] = ()


def optimize_sgr(frame: str) -> str:
    """Return an equivalent frame that starts and ends without an active style."""
    told = wanted = ""
    pieces: list[str] = []
    for number, piece in enumerate(_STYLE.split(frame)):
        if number % 2:
            wanted = f"{wanted};{piece}" if wanted and piece not in ("", "0") else piece.removeprefix("0")
        elif piece:
            # Moving the cursor does not depend on the style.
            if told != wanted and not _MOVES.fullmatch(piece):
                pieces.append(_change(told, wanted))
                told = wanted
            pieces.append(piece)
    return "".join(pieces) + (PLAIN if told else "")


@lru_cache(2048)
def _change(told: str, wanted: str) -> str:
    """Return the sequence from one style to another."""
    before, after = _look(told), _look(wanted)
    if after == _Look():
        return PLAIN if before != after else ""
    codes: list[str] = []
    if after.rest[: len(before.rest)] != before.rest:
        codes.append("0")
        before = _Look()
    codes += after.rest[len(before.rest) :]
    if after.fore != before.fore:
        codes.append(after.fore or "39")
    if after.back != before.back:
        codes.append(after.back or "49")
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _look(codes: str) -> _Look:
    look = _Look()
    rest = iter(codes.split(";"))
    for code in rest:
        kind = _COLOURS.get(code)
        if kind:
            depth = next(rest, "")
            code = ";".join([code, depth, *(next(rest, "") for _ in range(_NUMBERS.get(depth, 0)))])
        if code in ("", "0"):
            look = _Look()
        elif kind == "fore" or code in _FORE:
            look = look._replace(fore="" if code == "39" else code)
        elif kind == "back" or code in _BACK:
            look = look._replace(back="" if code == "49" else code)
        else:
            look = look._replace(rest=(*look.rest, code))
    return look
