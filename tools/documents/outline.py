"""Outline of a long text file: its definitions or headings with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from msgspec import Struct

from tools.symbols.outline import outline as definitions

_LONGEST_TEXT = 120
_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


class OutlineEntry(Struct, frozen=True):
    """A definition or heading."""

    line: int
    """Line, from 1."""
    depth: int
    """Nesting depth, from 0."""
    text: str
    """Text of the line, shortened."""


def outline(path: str, text: str) -> list[OutlineEntry]:
    """Return the definitions or headings of a file, in order; empty if its language is not known.

    Args:
        path: Path or name of the file; its suffix determines the language.
        text: Content of the file.
    """
    if PurePath(path).suffix.lower() in (".md", ".markdown", ".mdx"):
        return list(_headings(text))
    return [OutlineEntry(each.line, each.depth, each.text) for each in definitions(path, text)]


def _headings(text: str) -> Iterator[OutlineEntry]:
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and _HEADING.match(line):
            yield OutlineEntry(number, len(line) - len(line.lstrip("#")) - 1, line[:_LONGEST_TEXT].strip())
