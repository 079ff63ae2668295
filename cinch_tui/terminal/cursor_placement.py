"""Column-stable frames, independent of how wide the terminal draws a character.

Terminals disagree about the width of multi-codepoint clusters, such as emoji families (two cells, or two per emoji),
and of recent emoji. Each such cluster is cleared first, and the cursor is placed explicitly behind it. If the terminal
draws it wider, the excess remains until its neighbor is painted.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, split_graphemes

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
