"""Excerpts: some lines of a file of any size, in bounded memory."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from harness.workspace.disk import open_regular
from harness.workspace.encoding import likely

_CHUNK = 1024 * 1024
_SAMPLE = 64 * 1024


class Excerpt(Struct, frozen=True):
    """Lines of a file."""

    lines: tuple[str, ...]
    """The lines, without line endings."""
    first: int
    """Number of the first line, from 1."""
    total: int | None
    """Number of lines in the file; None if counting would take too long."""
    encoding: str
    """Encoding of the file."""
    newline: str
    """`\\n`, `\\r\\n`, `\\r` or `mixed`."""
    size: int
    """Size of the file in bytes."""


def excerpt_of(path: Path, first: int, count: int, *, clip: int) -> Excerpt:
    """Read an excerpt of a file as a stream.

    Args:
        path: The file.
        first: First line, from 1; negative counts from the end.
        count: Number of lines.
        clip: Maximum length of a line in characters; longer ones are cut.

    Raises:
        FileNotText: The beginning of the file is binary.
    """
    with open_regular(path) as file:
        sample = file.read(_SAMPLE)
        encoding, bom = likely(sample)
        newline = _newline(sample.decode(encoding, "replace"))
        file.seek(len(bom))
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        chunks = (decoder.decode(chunk) for chunk in iter(lambda: file.read(_CHUNK), b""))
        end = "\r" if newline == "\r" else "\n"
        window = _from_end(chunks, end, -first, clip) if first < 0 else _from_start(chunks, end, (first, count), clip)
    lines, number, total = window
    kept = tuple(line.removesuffix("\r") for line in lines[:count])
    return Excerpt(kept, number, total, encoding, newline, path.stat().st_size)


def _newline(sample: str) -> str:
    if "\r" not in sample:
        return "\n"
    if "\n" not in sample:
        return "\r"
    pairs = sample.count("\r\n")
    return "\r\n" if pairs == sample.count("\n") else "mixed" if pairs else "\n"


def _from_start(
    chunks: Iterator[str], end: str, window: tuple[int, int], clip: int
) -> tuple[list[str], int, int | None]:
    first, count = window
    lines: list[str] = []
    number = 1
    for line in _lines(chunks, end, clip, skip=first - 1):
        if isinstance(line, int):
            number += line
            continue
        if len(lines) == count:
            return lines, first, None
        if number >= first:
            lines.append(line)
        number += 1
    return lines, first, number - 1


def _from_end(chunks: Iterator[str], end: str, count: int, clip: int) -> tuple[list[str], int, int]:
    last: deque[str] = deque(maxlen=count)
    total = 0
    for line in _lines(chunks, end, clip, skip=0):
        if isinstance(line, str):
            last.append(line)
            total += 1
    return list(last), total - len(last) + 1, total


def _lines(chunks: Iterator[str], end: str, clip: int, *, skip: int) -> Iterator[str | int]:
    """Yield each line, cut to `clip`, or the number of lines skipped while `skip` lasts."""
    partial_line = ""
    is_open = False
    for chunk in chunks:
        ends = chunk.count(end) if skip > 0 else 0
        if 0 < ends < skip:
            yield ends
            skip -= ends
            partial_line = chunk[chunk.rfind(end) + 1 :][:clip]
            is_open = not chunk.endswith(end)
            continue
        pieces = chunk.split(end)
        for piece in pieces[:-1]:
            yield (partial_line + piece[: clip - len(partial_line)]) if partial_line else piece[:clip]
            partial_line = ""
            skip -= 1
        partial_line += pieces[-1][: clip - len(partial_line)]
        is_open = bool(pieces[-1]) or (is_open and len(pieces) == 1)
    if is_open:
        yield partial_line
