"""Cell-level screen diff: only cells that changed are written.

Textual rewrites a whole line of a widget, from its first column, for any change in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, repeat
from operator import ne
from typing import NamedTuple

from rich.cells import get_character_cell_size
from rich.console import Console, RenderableType

# There is no public API that exposes which cells an update changes.
from textual._compositor import ChopsUpdate  # pyright: ignore[reportPrivateUsage]

# 1 marks a changed cell. Moving the cursor costs as much as rewriting a few unchanged cells between two changes.
_RUNS = re.compile(rb"\x01+(?:\x00{1,8}\x01+)*")
_STYLES = re.compile(r"((?:\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\)+)")
_LINK, _NO_LINK, _PLAIN = "\x1b]8;", "\x1b]8;;\x1b\\", "\x1b[0m"


class _Cells(NamedTuple):
    """Cells of a row: the escape sequences that style each, and their characters."""

    styles: tuple[str, ...]
    text: str


class ScreenCells:
    """Cells written so far; valid as long as no one else writes to the terminal."""

    def __init__(self) -> None:
        # Maps line and start column to the end column and the text last written there.
        self._lines: dict[int, dict[int, tuple[int, str]]] = {}

    def minimize(self, update: RenderableType | None) -> RenderableType | None:
        """Return an update that writes only changed cells; a full repaint is returned unchanged."""
        if isinstance(update, ChopsUpdate):
            return MinimalUpdate(update, self)
        if update is not None:
            self._lines.clear()
        return update

    def write(self, y: int, x: int, end: int, text: str) -> str:
        """Return the output that makes these columns show `text`."""
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


class MinimalUpdate(ChopsUpdate):
    """A partial screen update that skips unchanged cells."""

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


# The current content was the new content of the previous comparison, so half of the lookups hit the cache.
@lru_cache(128)
def _cells(text: str) -> _Cells | None:
    """Parse a line; None if a character is not exactly one cell wide, since terminals disagree about these."""
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
    """Return the ranges that differ; nearby ones are merged."""
    if before.styles == after.styles:
        differ = map(ne, before.text, after.text)
    else:
        differ = map(ne, zip(*before, strict=True), zip(*after, strict=True))
    return (run.span() for run in _RUNS.finditer(bytes(differ)))


def _written(cells: _Cells, start: int, stop: int) -> str:
    pieces: list[str] = []
    for look, alike in groupby(cells.styles[start:stop]):
        start, begin = start + len(list(alike)), start
        pieces += look, cells.text[begin:start], _PLAIN if look else "", _NO_LINK if _LINK in look else ""
    return "".join(pieces)
