"""Images in the terminal: detection of support, and kitty's graphics protocol with Unicode placeholders.

An image is transmitted once under a number. Cells with the placeholder character then display it: the color encodes the
number, combining marks the row and column of the image. Such cells can be scrolled, covered and clipped like text, also
in tmux. Images of sixel and iTerm2 stay until something overwrites them and would smear in a scrolling view, so half
blocks are used instead.

Source: https://sw.kovidgoyal.net/kitty/graphics-protocol/
"""

from __future__ import annotations

import os
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from cinch_tui.config.tables.ui import Images
from cinch_tui.terminal.multiplexers import passthrough
from cinch_tui.transcript.image import Cells
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.styles import ImageMode

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


def transmit(number: int, png: bytes) -> Iterator[str]:
    """Transmit an image without displaying it; the terminal does not reply."""
    data = b64encode(png).decode("ascii")
    for start in range(0, len(data), CHUNK):
        more = int(start + CHUNK < len(data))
        keys = f"a=t,t=d,f=100,q=2,i={number},m={more}" if not start else f"q=2,m={more}"
        yield f"\x1b_G{keys};{data[start : start + CHUNK]}\x1b\\"


def create_placement(number: int, cells: Cells) -> str:
    """Define the size in cells of the image's placement."""
    return f"\x1b_Ga=p,U=1,q=2,i={number},c={cells.columns},r={cells.rows}\x1b\\"


def delete_placement(number: int) -> str:
    """Delete the placement, but keep the image data."""
    return f"\x1b_Ga=d,d=i,q=2,i={number}\x1b\\"


def delete_image(number: int) -> str:
    """Delete the image data."""
    return f"\x1b_Ga=d,d=I,q=2,i={number}\x1b\\"


def placeholder_lines(number: int, cells: Cells, ground: Style) -> list[StyledLine]:
    """Return the lines of placeholder cells."""
    style = ground + Style(color=Color.from_rgb(number >> 16, number >> 8 & 0xFF, number & 0xFF))
    lines: list[StyledLine] = []
    for row in range(cells.rows):
        # Each cell encodes its position, since its neighbors may be covered.
        text = "".join(f"{_CELL}{MARKS[row]}{MARKS[column]}" for column in range(cells.columns))
        lines.append(StyledLine((Segment(text, style),), gutter=len(text), end=""))
    return lines


TIMEOUT_S = 2.0
# Other terminals support the protocol too, but show its placeholder characters.
_KINDS = ("xterm-kitty", "xterm-ghostty")
_SIGNS = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR")
_HOW = "#{allow-passthrough} #{client_termname}"


def initial_image_mode(wanted: Images, colours: str | None) -> ImageMode:
    """Return the image mode before the terminal was queried. `colours` is its color system, if any."""
    if colours not in ("truecolor", "256") or (wanted == "kitty" and colours != "truecolor"):
        return "off"
    return "blocks" if wanted == "auto" else wanted


def answers_queries(environ: Mapping[str, str]) -> bool:
    """Return True if the terminal is known to answer a query; some others would print it."""
    is_inside = environ.get("TMUX") or environ.get("STY") or environ.get("TERM", "").startswith(("tmux", "screen"))
    return not is_inside and (environ.get("TERM") in _KINDS or any(environ.get(sign) for sign in _SIGNS))


def tmux_passes_images() -> bool:
    """Return True if tmux passes images through to a terminal that supports them."""
    try:
        asked = subprocess.run(
            ["tmux", "display-message", "-p", "-t", os.environ.get("TMUX_PANE", ""), _HOW],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    allowed, _, kind = asked.stdout.strip().partition(" ")
    return allowed in ("on", "all") and kind in _KINDS


# Terminals limit image memory to a few hundred megabytes for all windows.
MAX_STORED = 40


class TerminalImageStore:
    """Images stored in the terminal by number, with their size in cells."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._stored: dict[int, Cells] = {}
        self.is_in_tmux = False
        """Sequences must be wrapped for passthrough."""

    def write(self, sequence: str) -> None:
        self._write(passthrough(sequence, "tmux") if self.is_in_tmux else sequence)

    def contains(self, number: int, cells: Cells) -> bool:
        return self._stored.get(number) == cells

    def place(self, number: int, cells: Cells) -> bool:
        """Display a stored image in another size; return False if it is not stored."""
        if number not in self._stored:
            return False
        self._stored[number] = cells
        self.write(delete_placement(number))
        self.write(create_placement(number, cells))
        return True

    def send(self, number: int, png: bytes, cells: Cells) -> None:
        for sequence in transmit(number, png):
            self.write(sequence)
        self.write(create_placement(number, cells))
        self._stored[number] = cells
        if len(self._stored) > MAX_STORED:
            self.free(next(iter(self._stored)))

    def free(self, number: int) -> None:
        if self._stored.pop(number, None) is not None:
            self.write(delete_image(number))

    def clear(self) -> None:
        for number in tuple(self._stored):
            self.free(number)

    def forget(self) -> None:
        """Forget all images without deleting them: the terminal has lost them."""
        self._stored.clear()
