"""Text of a file: in memory, lines end in line feeds, whatever they end in on disk.

Offsets refer to `FileText.text`. A splice changes only its own span: every byte outside it is kept, and the new text
uses the line ending in use at that place.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.workspace.encoding import decode, encode

Newline: TypeAlias = Literal["\n", "\r\n", "\r", "mixed"]

_ENDING = re.compile(r"\r\n|\n")
_CRLF = re.compile(r"\r\n")
_PAIRED = ("\r\n", "mixed")


class Splice(Struct, frozen=True):
    """Replacement of a span of text."""

    start: int
    """Start of the span."""
    end: int
    """End of the span, exclusive."""
    text: str
    """Replacement."""


class FileText(Struct, frozen=True):
    """Text of a file, and the data needed to write it back."""

    raw: str
    """Text with its own line endings."""
    text: str
    """Text with line feeds. A lone carriage return ends a line only if the file has no line feed."""
    encoding: str
    """Encoding of the file."""
    bom: bytes
    """Byte-order mark."""
    newline: Newline
    """Line ending; `mixed` if line feeds occur both with and without a carriage return."""
    digest: str
    """Digest of the file that was read."""
    size: int
    """Size of the file that was read, in bytes."""
    mtime: float = 0.0
    """Modification time of the file that was read, in seconds since the epoch."""

    @property
    def data(self) -> bytes:
        """Bytes to write.

        Raises:
            FileNotText: The encoding lacks one of the characters.
        """
        return encode(self.raw, self.encoding, self.bom)

    def spliced(self, splices: Iterable[Splice]) -> FileText:
        """Return this text with splices applied; they must not overlap."""
        raw_pieces: list[str] = []
        text_pieces: list[str] = []
        offsets = _Offsets(self)
        done = 0
        for splice in sorted(splices, key=lambda each: (each.start, each.end)):
            text = self.normalized(splice.text)
            raw_pieces += (self.raw[offsets[done] : offsets[splice.start]], self._written(text, offsets[splice.start]))
            text_pieces += (self.text[done : splice.start], text)
            done = splice.end
        raw_pieces.append(self.raw[offsets[done] :])
        text_pieces.append(self.text[done:])
        return replace(self, raw="".join(raw_pieces), text="".join(text_pieces))

    def rewritten(self, content: str) -> FileText:
        """Return this file with other content; the common beginning and end are unchanged."""
        text = self.normalized(content.removeprefix("\ufeff") if self.bom else content)
        return self.spliced([difference(self.text, text)])

    def exact_spans(self, wanted: str) -> list[tuple[int, int]]:
        """Return the spans that match `wanted` byte for byte, line endings included."""
        pairs = [pair.start() for pair in _CRLF.finditer(self.raw)] if self.newline in _PAIRED else []
        starts = occurrences(self.raw, wanted)
        return [(at - bisect_left(pairs, at), (end := at + len(wanted)) - bisect_left(pairs, end)) for at in starts]

    def normalized(self, content: str) -> str:
        """Content from elsewhere, with line feeds as in `text`."""
        text = content.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.newline == "\r" else text

    def _written(self, text: str, position: int) -> str:
        """Return `text` with the line ending in use at `position` of `raw`."""
        if self.newline == "\n" or "\n" not in text:
            return text
        return text.replace("\n", self.newline if self.newline != "mixed" else self._ending_at(position))

    def _ending_at(self, position: int) -> str:
        following = _ENDING.search(self.raw, position)
        if following is not None:
            return following[0]
        last = self.raw.rfind("\n")
        return "\r\n" if self.raw[last - 1 : last] == "\r" else "\n"


class _Offsets:
    """Maps offsets in `text` to offsets in `raw`."""

    def __init__(self, file: FileText) -> None:
        pairs = _CRLF.finditer(file.raw) if file.newline in _PAIRED else ()
        # Each pair loses one character, so the k-th is k places further left in the text.
        self._pairs = [pair.start() - k for k, pair in enumerate(pairs)]

    def __getitem__(self, offset: int) -> int:
        return offset + bisect_left(self._pairs, offset)


def file_text(data: bytes, *, known: str | None = None, mtime: float = 0.0) -> FileText:
    """Decode the bytes of a file; `known` is its encoding when it was last read.

    Raises:
        FileNotText: The file is binary.
    """
    decoded = decode(data, known)
    newline = newline_of(decoded.raw)
    return FileText(
        raw=decoded.raw,
        text=_with_line_feeds(decoded.raw, newline),
        encoding=decoded.encoding,
        bom=decoded.bom,
        newline=newline,
        digest=digest(data),
        size=len(data),
        mtime=mtime,
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 digest in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def difference(old: str, new: str) -> Splice:
    """Return the single splice that turns `old` into `new`, without their common beginning and end."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return Splice(start, len(old) - end, new[start : len(new) - end])


def occurrences(text: str, wanted: str) -> list[int]:
    """Return the positions of `wanted`, without overlaps."""
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def line_numbers(text: str, offsets: Iterable[int]) -> list[int]:
    """Return the lines of ascending offsets, from 1."""
    numbers: list[int] = []
    line, done = 1, 0
    for offset in offsets:
        line += text.count("\n", done, offset)
        done = offset
        numbers.append(line)
    return numbers


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning, by bisection: comparing slices is much faster than characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def newline_of(raw: str) -> Newline:
    if "\r" not in raw:
        return "\n"
    pairs = raw.count("\r\n")
    feeds = raw.count("\n") - pairs
    if pairs:
        return "mixed" if feeds else "\r\n"
    return "\n" if feeds else "\r"


def _with_line_feeds(raw: str, newline: Newline) -> str:
    match newline:
        case "\n":
            return raw
        case "\r":
            return raw.replace("\r", "\n")
        case _:
            return raw.replace("\r\n", "\n")
