"""Output of frames: compact style sequences, and columns that do not depend on how wide the terminal draws a character.

Textual writes the complete style before and a reset after every piece of text, half of its output.

Terminals disagree about the width of multi-codepoint clusters, such as emoji families (two cells, or two per emoji),
and of recent emoji. Each such cluster is cleared first, and the cursor is placed explicitly behind it. If the terminal
draws it wider, the excess remains until its neighbor is painted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes
from textual.dom import DOMNode
from textual.geometry import Offset

PLAIN = "\x1b[0m"
# Codes followed by the type and components of a color.
_COLOURS = {"38": "fore", "48": "back", "58": "under"}
_NUMBERS = {"2": 3, "5": 1}
_FORE = {"39", *map(str, range(30, 38)), *map(str, range(90, 98))}
_BACK = {"49", *map(str, range(40, 48)), *map(str, range(100, 108))}
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"(?:\n|\x1b\[[0-9;]*H)*")


class _SgrState(NamedTuple):
    """Foreground and background color codes, empty for the terminal's default, and all other codes in order."""

    fore: str = ""
    back: str = ""
    rest: tuple[str, ...] = ()


def optimize_sgr(frame: str) -> str:
    """Return an equivalent frame that starts and ends without an active style."""
    current = wanted = ""
    pieces: list[str] = []
    for number, piece in enumerate(_STYLE.split(frame)):
        if number % 2:
            wanted = f"{wanted};{piece}" if wanted and piece not in ("", "0") else piece.removeprefix("0")
        elif piece:
            # Moving the cursor does not depend on the style.
            if current != wanted and not _MOVES.fullmatch(piece):
                pieces.append(_change(current, wanted))
                current = wanted
            pieces.append(piece)
    return "".join(pieces) + (PLAIN if current else "")


@lru_cache(2048)
def _change(current: str, wanted: str) -> str:
    """Return the sequence from one style to another."""
    before, after = _parse_sgr(current), _parse_sgr(wanted)
    if after == _SgrState():
        return PLAIN if before != after else ""
    codes: list[str] = []
    if after.rest[: len(before.rest)] != before.rest:
        codes.append("0")
        before = _SgrState()
    codes += after.rest[len(before.rest) :]
    if after.fore != before.fore:
        codes.append(after.fore or "39")
    if after.back != before.back:
        codes.append(after.back or "49")
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _parse_sgr(codes: str) -> _SgrState:
    state = _SgrState()
    rest = iter(codes.split(";"))
    for code in rest:
        kind = _COLOURS.get(code)
        if kind:
            depth = next(rest, "")
            code = ";".join([code, depth, *(next(rest, "") for _ in range(_NUMBERS.get(depth, 0)))])
        if code in ("", "0"):
            state = _SgrState()
        elif kind == "fore" or code in _FORE:
            state = state._replace(fore="" if code == "39" else code)
        elif kind == "back" or code in _BACK:
            state = state._replace(back="" if code == "49" else code)
        else:
            state = state._replace(rest=(*state.rest, code))
    return state


# Ranges that contain emoji and combining characters; a match is examined per cluster.
_SUSPECTS = re.compile("[\u0300-\u036f\u0483-\u1cff\u200b-\u200f\u20d0-\u20ff\ufe00-\ufe0f\U0001f000-\U0010ffff]")
_SEQUENCES = re.compile(r"(\x1b\[[0-9;:?<=>]*[@-~]|\x1b[\]_P^X][^\x1b\x07]*(?:\x1b\\|\x07)|\n)")
_PLACE = re.compile(r"\x1b\[\d+;(\d+)H")
_OLDEST_EMOJI = "\U0001f000"
# Kitty's image placeholders: terminals that know them agree on the width, and clearing them would make the image
# flicker.
_PICTURE = "\U0010eeee"
# A cluster wider than the rest of the line must not wrap into the next one.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


def place_cursor(frame: str) -> str:
    """Return the frame with an explicit cursor position after each cluster of disputed width."""
    if frame.isascii() or not _SUSPECTS.search(frame):
        return frame
    column: int | None = None
    pieces: list[str] = []
    for number, piece in enumerate(_SEQUENCES.split(frame)):
        if number % 2:
            column = _moved(piece, column)
        elif column is not None and piece:
            piece, column = _written(piece, column)
        pieces.append(piece)
    return f"{_NO_WRAP}{''.join(pieces)}{_WRAP}"


def _moved(sequence: str, column: int | None) -> int | None:
    """Return the column after a sequence, from 1; None if unknown."""
    if place := _PLACE.fullmatch(sequence):
        return int(place[1])
    return column if sequence.endswith("m") or (not sequence.startswith("\x1b[") and sequence != "\n") else None


def _written(text: str, column: int) -> tuple[str, int]:
    if not _SUSPECTS.search(text):
        return text, column + cell_len(text)
    pieces: list[str] = []
    for start, end, width in split_graphemes(text)[0]:
        cluster = text[start:end]
        if (len(cluster) > 1 or cluster >= _OLDEST_EMOJI) and cluster[0] != _PICTURE:
            cluster = f"{' ' * width}\x1b[{column}G{cluster}\x1b[{column + width}G"
        pieces.append(cluster)
        column += width
    return "".join(pieces), column


def cursor_position(focused: DOMNode | None) -> Offset | None:
    """Return the screen cell of the text cursor, where input methods open; None if the focused widget takes no text."""
    offset: Offset | None = getattr(focused, "cursor_screen_offset", None)
    # At the end of the text of a single-line input, Textual is off by one cell.
    return offset - (getattr(focused, "cursor_at_end", False), 0) if offset is not None else None
