"""What stands on the terminal, cell by cell, so that only those cells are written that look different.

Textual writes a line of a widget whole, from its first column, wherever in it something changed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby, repeat
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import get_character_cell_size

# They have no public name, and there is no other place where it is known which cells an update is about.
from textual._compositor import ChopsUpdate  # pyright: ignore[reportPrivateUsage]

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, RenderableType

# Cells that differ, where 1 is one that does: a cursor that is moved costs as much as some cells between that do not.
_RUNS = re.compile(rb"\x01+(?:\x00{1,8}\x01+)*")
_STYLES = re.compile(r"((?:\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\)+)")
_LINK, _NO_LINK, _PLAIN = "\x1b]8;", "\x1b]8;;\x1b\\", "\x1b[0m"


class _Cells(NamedTuple):
    """What stands in a row: how each cell looks, as the sequences for that, and their characters."""

    looks: tuple[str, ...]
    text: str


class ScreenCells:
    """What was written, as long as nobody else writes."""

    def __init__(self) -> None:
        # By line and column: what was written there last, and where it ends.
        self._lines: dict[int, dict[int, tuple[int, str]]] = {}

    def sparing(self, update: RenderableType | None) -> RenderableType | None:
        """An update that writes no more than it must; one that paints all is left as it is."""
        if isinstance(update, ChopsUpdate):
            return SparingUpdate(update, self)
        if update is not None:
            self._lines.clear()
        return update

    def write(self, y: int, x: int, end: int, text: str) -> str:
        """What makes `text` stand in these columns."""
        line = self._lines.setdefault(y, {})
        known = line.get(x)
        if known == (end, text):
            return ""
        for other in [other for other, (its_end, _) in line.items() if other < end and x < its_end]:
            del line[other]
        line[x] = (end, text)
        before = _cells(known[1]) if known and known[0] == end else None
        after = _cells(text) if before else None
        if not before or not after or len(before.text) != len(after.text):
            return f"\x1b[{y + 1};{x + 1}H{text}"
        return "".join(
            f"\x1b[{y + 1};{x + start + 1}H{_written(after, start, stop)}"
            for start, stop in _differences(before, after)
        )


class SparingUpdate(ChopsUpdate):
    """An update for a terminal on which most of it stands already."""

    def __init__(self, update: ChopsUpdate, screenful: ScreenCells) -> None:
        super().__init__(update.chops, update.spans, update.chop_ends)
        self._screenful = screenful

    def render_segments(self, console: Console) -> str:
        pieces: list[str] = []
        for y, left, right in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is not None and x < right and end > left:
                    pieces.append(self._screenful.write(y, x, end, strip.render(console)))
        return "".join(pieces)


# What is on the screen is compared to what was written there, which was compared before.
@lru_cache(128)
def _cells(text: str) -> _Cells | None:
    """None where a character takes more than one cell, or none: terminals are not of one mind about these."""
    looks: list[str] = []
    pieces = _STYLES.split(text)
    look = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            look = piece.rpartition(_PLAIN)[2].rpartition(_NO_LINK)[2]
        elif piece.isascii() or all(get_character_cell_size(character) == 1 for character in piece):
            looks += repeat(look, len(piece))
        else:
            return None
    return _Cells(tuple(looks), "".join(pieces[::2]))


def _differences(before: _Cells, after: _Cells) -> Iterable[tuple[int, int]]:
    """From where to where they differ; what is near to each other is taken together."""
    if before.looks == after.looks:
        differ = map(ne, before.text, after.text)
    else:
        differ = map(ne, zip(*before, strict=True), zip(*after, strict=True))
    return (run.span() for run in _RUNS.finditer(bytes(differ)))


def _written(cells: _Cells, start: int, stop: int) -> str:
    pieces: list[str] = []
    for look, alike in groupby(cells.looks[start:stop]):
        start, begin = start + len(list(alike)), start
        pieces += look, cells.text[begin:start], _PLAIN if look else "", _NO_LINK if _LINK in look else ""
    return "".join(pieces)
