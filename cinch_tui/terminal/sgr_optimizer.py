"""A frame in fewer bytes: a style is told where it changes, and only what changes of it.

Textual tells the whole style of every piece of text and takes it back after it, which is half of what it writes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

PLAIN = "\x1b[0m"
# Codes that are followed by the kind and the numbers of a colour.
_COLOURS = {"38": "fore", "48": "back", "58": "under"}
_NUMBERS = {"2": 3, "5": 1}
_FORE = {"39", *map(str, range(30, 38)), *map(str, range(90, 98))}
_BACK = {"49", *map(str, range(40, 48)), *map(str, range(100, 108))}
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"(?:\n|\x1b\[[0-9;]*H)*")


class _Look(NamedTuple):
    """Two colours, each as its code, empty where it is the terminal's own; and all else, in the order it was told."""

    fore: str = ""
    back: str = ""
    rest: tuple[str, ...] = ()


def optimize_sgr(frame: str) -> str:
    """What looks the same on a terminal that has no style set, and leaves it without one."""
    told = wanted = ""
    pieces: list[str] = []
    for number, piece in enumerate(_STYLE.split(frame)):
        if number % 2:
            wanted = f"{wanted};{piece}" if wanted and piece not in ("", "0") else piece.removeprefix("0")
        elif piece:
            # The cursor takes no style along.
            if told != wanted and not _MOVES.fullmatch(piece):
                pieces.append(_change(told, wanted))
                told = wanted
            pieces.append(piece)
    return "".join(pieces) + (PLAIN if told else "")


@lru_cache(2048)
def _change(told: str, wanted: str) -> str:
    """From one style to another."""
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
