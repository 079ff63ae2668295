"""A frame that stands in the same columns on every terminal, whatever that takes a character to be wide.

Terminals are not of one mind about what is written as several code points, such as a family of emoji (two cells, or
two for each of them), or about emoji younger than they are. So such a cluster gets a place of its own: it is cleared,
and the cursor is put behind it where we take it to end. Drawn wider than that, it lasts until its neighbour is painted.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, split_graphemes

# Where clusters of several code points, and emoji, are at home; looked at more closely one by one.
_SUSPECTS = re.compile("[\u0300-\u036f\u0483-\u1cff\u200b-\u200f\u20d0-\u20ff\ufe00-\ufe0f\U0001f000-\U0010ffff]")
_SEQUENCES = re.compile(r"(\x1b\[[0-9;:?<=>]*[@-~]|\x1b[\]_P^X][^\x1b\x07]*(?:\x1b\\|\x07)|\n)")
_PLACE = re.compile(r"\x1b\[\d+;(\d+)H")
_OLDEST_EMOJI = "\U0001f000"
# The cells of kitty's pictures: those that know them agree, and a blank there would make the picture flicker.
_PICTURE = "\U0010eeee"
# A cluster that turns out wider than the rest of the line must not go on in the next one.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"


def place_cursor(frame: str) -> str:
    """The same frame; what has a disputed width is followed by the column that comes next."""
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
    """The column after a sequence, counted from one; None where that is not known."""
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
