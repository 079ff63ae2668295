"""Patch: changes of several files as a model describes them. Parsing reads no file."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tools.editing.text_view import line_feeds


class PatchError(Exception):
    """The text is not a patch, or its place in a file is not certain; the message is for the model."""


class PatchHunk(Struct, frozen=True):
    """Lines of a file to replace."""

    line: int
    """Line of the patch at which the hunk begins, from 1."""
    old: tuple[str, ...]
    """Context and removed lines, without line feeds."""
    new: tuple[str, ...]
    """Context and added lines, without line feeds."""
    anchors: tuple[str, ...] = ()
    """Lines of the file above the hunk, the outermost first, such as its class and method."""
    start: int = 0
    """Line of the file at which `old` begins according to the patch, from 1; 0 = unknown."""
    is_at_end: bool = False
    """True if `old` ends with the file."""
    old_is_open: bool = False
    """True if the last line of the file has no line feed before the change."""
    new_is_open: bool = False
    """True if the last line of the file has no line feed after the change."""


class FilePatch(Struct, frozen=True):
    """Change of one file."""

    kind: Literal["add", "delete", "update"]
    path: str
    line: int
    """Line of the patch that names the file, from 1."""
    target: str = ""
    """New path of a moved file; empty to keep the path."""
    text: str = ""
    """Content of a new file."""
    hunks: tuple[PatchHunk, ...] = ()


class NumberedLine(Struct, frozen=True):
    """Line of a patch with its number, from 1."""

    number: int
    text: str


_HEREDOC = re.compile(r"""[^<]*<<-?\s*['"]?(\w+)['"]?\s*""")
_FENCE = re.compile(r"\s*(```+|~~~+)[\w-]*\s*")


def unwrapped(text: str) -> list[NumberedLine]:
    """Return the lines of a patch without the here-document or code fence that a model put around it."""
    lines = _stripped([NumberedLine(number, line) for number, line in enumerate(line_feeds(text).split("\n"), 1)])
    found = (_HEREDOC.fullmatch(lines[0].text) or _FENCE.fullmatch(lines[0].text)) if lines else None
    if found is None:
        return lines
    has_end = lines[-1].text.strip().rstrip("'\"") == found[1]
    return _stripped(lines[1:-1] if has_end else lines[1:])


def _stripped(lines: list[NumberedLine]) -> list[NumberedLine]:
    """Return the lines without blank ones at both ends."""
    filled = [place for place, line in enumerate(lines) if line.text.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []
