"""Kitty's graphics protocol with Unicode placeholders.

An image is transmitted once under a number. Cells with the placeholder character then display it: the color encodes the
number, combining marks the row and column of the image. Such cells can be scrolled, covered and clipped like text, also
in tmux.

Source: https://sw.kovidgoyal.net/kitty/graphics-protocol/
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from cinch_tui.transcript.lines import Line

if TYPE_CHECKING:
    from cinch_tui.transcript.image import Cells

QUERY = "\x1b[>q\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
"""Query the terminal version and graphics support; terminals without support do not reply."""

CHUNK = 4096
_CELL = "\U0010eeee"
# Combining marks for 0, 1, 2 …, as listed by the protocol; they limit the image size in cells.
_RANGES = (
    *((0x305, 0x305), (0x30D, 0x30E), (0x310, 0x310), (0x312, 0x312), (0x33D, 0x33F), (0x346, 0x346), (0x34A, 0x34C)),
    *((0x350, 0x352), (0x357, 0x357), (0x35B, 0x35B), (0x363, 0x36F), (0x483, 0x487), (0x592, 0x595), (0x597, 0x599)),
    *((0x59C, 0x5A1), (0x5A8, 0x5A9), (0x5AB, 0x5AC), (0x5AF, 0x5AF), (0x5C4, 0x5C4), (0x610, 0x617)),
)
MARKS = "".join(chr(code) for first, last in _RANGES for code in range(first, last + 1))


def sending(number: int, png: bytes) -> Iterator[str]:
    """Transmit an image without displaying it; the terminal does not reply."""
    data = b64encode(png).decode("ascii")
    for start in range(0, len(data), CHUNK):
        more = int(start + CHUNK < len(data))
        keys = f"a=t,t=d,f=100,q=2,i={number},m={more}" if not start else f"q=2,m={more}"
        yield f"\x1b_G{keys};{data[start : start + CHUNK]}\x1b\\"


def placing(number: int, cells: Cells) -> str:
    """Define the size in cells of the image's placement."""
    return f"\x1b_Ga=p,U=1,q=2,i={number},c={cells.columns},r={cells.rows}\x1b\\"


def taking_away(number: int) -> str:
    """Delete the placement, but keep the image data."""
    return f"\x1b_Ga=d,d=i,q=2,i={number}\x1b\\"


def freeing(number: int) -> str:
    """Delete the image data."""
    return f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\"


def picture_lines(number: int, cells: Cells, ground: Style) -> list[Line]:
    """Return the lines of placeholder cells."""
    style = ground + Style(color=Color.from_rgb(number >> 16, number >> 8 & 0xFF, number & 0xFF))
    lines: list[Line] = []
    for row in range(cells.rows):
        # Each cell encodes its position, since its neighbors may be covered.
        text = "".join(f"{_CELL}{MARKS[row]}{MARKS[column]}" for column in range(cells.columns))
        lines.append(Line((Segment(text, style),), gutter=len(text), end=""))
    return lines
