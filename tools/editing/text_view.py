"""Text as edits compare it: without trailing spaces, and with ASCII quotes, dashes and spaces."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

_CLASSES = {
    "'": "‘’‚‛′",
    '"': "“”„‟″",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_TYPOGRAPHY = {ord(char): ascii_char for ascii_char, chars in _CLASSES.items() for char in chars}
_TRAILING = re.compile(r"[ \t\r]+(?=\n|\Z)")


class TextView:
    """View of a text, and the mapping of its offsets back to the original."""

    def __init__(self, text: str) -> None:
        self.text = comparable(text)
        self._places: list[int] = []
        self._removed = [0]
        for match in _TRAILING.finditer(text):
            self._places.append(match.start() - self._removed[-1])
            self._removed.append(self._removed[-1] + len(match[0]))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the same place in the original; spaces removed at either end stay outside."""
        return (
            start + self._removed[bisect_right(self._places, start)],
            end + self._removed[bisect_left(self._places, end)],
        )


def comparable(text: str) -> str:
    """Return the text of a view."""
    return _TRAILING.sub("", text).translate(_TYPOGRAPHY)


def line_feeds(text: str) -> str:
    """Return a text whose lines end in line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def line_bounds(text: str) -> list[tuple[int, int]]:
    """Return start and end of each line, without its line feed."""
    bounds: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        bounds.append((start, start + len(line)))
        start += len(line) + 1
    return bounds


def typography_of(here: Sequence[str], asked: Sequence[str]) -> Mapping[int, str]:
    """Return the translation of typographic characters in `asked` where the file's lines have ASCII ones.

    Empty unless the file has the ASCII character at every such place.
    """
    written, kept = set[str](), set[str]()
    for actual, line in zip(here, asked, strict=False):
        for char, wanted in zip(actual, line, strict=False):
            if (ascii_char := _TYPOGRAPHY.get(ord(wanted))) is not None:
                (written if char == ascii_char else kept).add(ascii_char)
    quotes = {"'", '"'}
    classes = (written | quotes if written & quotes else written) - kept
    return {ord(char): ascii_char for ascii_char in classes for char in _CLASSES[ascii_char]}
