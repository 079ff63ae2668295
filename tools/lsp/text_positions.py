"""Positions in text: characters of Python on one side, code units of the negotiated encoding on the other.

Source: the section "Position" of the language server protocol, https://microsoft.github.io/language-server-protocol/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.errors import LanguageServerError
from harness.workspace.file_text import Splice

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
ENCODINGS: tuple[Encoding, ...] = ("utf-32", "utf-8", "utf-16")
"""Encodings of positions, the most convenient first; servers that do not choose use UTF-16."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_QUALIFIER = re.compile(r".*(?:\.|::|->)")
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class Spot(Struct, frozen=True, order=True):
    """Position as the protocol counts it, from 0."""

    line: int
    character: int


class SpotEdit(Struct, frozen=True):
    """Replacement of a range of text."""

    start: Spot
    end: Spot
    text: str


class Lines:
    """Lines of a text, with positions in an encoding."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._encoding: Encoding = encoding
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def line(self, number: int) -> str:
        """Return a line without its end, counted from 0; empty if absent."""
        if not 0 <= number < len(self._starts):
            return ""
        following = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : following].rstrip("\r\n")

    def __len__(self) -> int:
        return len(self._starts)

    def spot(self, line: int, column: int) -> Spot:
        """Return the position of a character, both counted from 0."""
        return Spot(line, units(self.line(line)[:column], self._encoding))

    def offset(self, spot: Spot) -> int:
        """Return the offset of a position in the text; a column beyond the line is its end, as the protocol says.

        Raises:
            LanguageServerError: There is no such line.
        """
        if spot.line == len(self._starts) and spot.character == 0:
            return len(self.text)
        if not 0 <= spot.line < len(self._starts):
            raise LanguageServerError("named a line that the file does not have")
        return self._starts[spot.line] + characters(self.line(spot.line), spot.character, self._encoding)

    def splices(self, edits: Iterable[SpotEdit]) -> list[Splice]:
        """Return edits as splices, in order.

        Raises:
            LanguageServerError: They overlap, or a line does not exist.
        """
        splices = [Splice(self.offset(each.start), self.offset(each.end), each.text) for each in edits]
        splices.sort(key=lambda each: (each.start, each.end))
        for one, other in pairwise(splices):
            if other.start < one.end:
                raise LanguageServerError("sent edits that overlap")
        if any(each.end < each.start for each in splices):
            raise LanguageServerError("sent an edit that ends before its start")
        return splices


def encoding_named(name: str) -> Encoding:
    """Return the encoding of that name; UTF-16, as servers use by default, for an unknown one."""
    found: Encoding = "utf-16"
    for each in ENCODINGS:
        if each == name:
            found = each
    return found


def units(text: str, encoding: Encoding) -> int:
    """Return the length of a text in code units."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return len(text.encode(_CODECS[encoding], "surrogatepass")) // _WIDTHS[encoding]


def characters(line: str, count: int, encoding: Encoding) -> int:
    """Return how many characters of a line are in its first `count` code units."""
    if encoding == "utf-32" or line.isascii():
        return max(0, min(count, len(line)))
    data = line.encode(_CODECS[encoding], "surrogatepass")[: max(0, count) * _WIDTHS[encoding]]
    return len(data.decode(_CODECS[encoding], "ignore"))


def find_symbol(lines: Lines, line: int, symbol: str) -> Spot:
    """Return the position of a symbol on a line.

    Args:
        lines: The text.
        line: Number of the line, from 1.
        symbol: Name as it appears there; for a dotted name, its last part. Empty: the first name of the line.

    Raises:
        LanguageServerError: It is not on that line.
    """
    if not 1 <= line <= len(lines):
        raise LanguageServerError(f"Line {line} does not exist; the file has {len(lines)} lines.")
    text = lines.line(line - 1)
    wanted = symbol.strip()
    if not wanted:
        column = len(text) - len(text.lstrip())
        return lines.spot(line - 1, column)
    found = _word(text, wanted)
    if found is None:
        raise LanguageServerError(_not_found(lines, line, wanted))
    # The last part of a dotted name is the symbol: `a.b` means the `b` of `a`.
    qualifier = _QUALIFIER.match(wanted)
    return lines.spot(line - 1, found + (qualifier.end() if qualifier else 0))


def _word(text: str, wanted: str) -> int | None:
    start = r"(?<![\w$])" if wanted[0].isalnum() or wanted[0] in "_$" else ""
    end = r"(?![\w$])" if wanted[-1].isalnum() or wanted[-1] in "_$" else ""
    found = re.search(f"{start}{re.escape(wanted)}{end}", text)
    return found.start() if found else None


def _not_found(lines: Lines, line: int, wanted: str) -> str:
    text = f"{wanted!r} is not on line {line}: {lines.line(line - 1).strip()[:120]!r}."
    others = [number for number in range(1, len(lines) + 1) if _word(lines.line(number - 1), wanted) is not None]
    others.sort(key=lambda number: abs(number - line))
    if others:
        text += f" It is on line{'s' if len(others) > 1 else ''} {', '.join(map(str, sorted(others[:5])))}."
    return text
