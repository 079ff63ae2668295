"""Excerpts: some lines of a file of any size, in bounded memory."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from harness.workspace.disk import open_regular
from harness.workspace.encoding import likely
from harness.workspace.file_text import newline_of

_CHUNK = 1024 * 1024
_SAMPLE = 64 * 1024

Window: TypeAlias = tuple[list[str], int, int | None]
"""Lines, the number of the first one, and the number of lines in the file if it is known."""


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
        newline = newline_of(sample.decode(encoding, "replace"))
        file.seek(len(bom))
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        chunks = filter(None, map(decoder.decode, iter(lambda: file.read(_CHUNK), b"")))
        end = "\r" if newline == "\r" else "\n"
        window = _from_end(chunks, end, -first, clip) if first < 0 else _from_start(chunks, end, (first, count), clip)
    lines, number, total = window
    kept = tuple(line.removesuffix("\r") for line in lines[:count])
    return Excerpt(kept, number, total, encoding, newline, path.stat().st_size)


def _from_start(chunks: Iterator[str], end: str, window: tuple[int, int], clip: int) -> Window:
    first, count = window
    number, chunk, rest = 1, "", ""
    # Chunks before the first line are not split, only counted.
    for chunk in chunks:
        ends = chunk.count(end)
        if number + ends >= first:
            break
        number, rest = number + ends, chunk[chunk.rfind(end) + 1 :]
    else:
        chunk = ""
    lines: list[str] = []
    for line in _lines(chain((rest, chunk), chunks), end, clip):
        if len(lines) == count:
            return lines, first, None
        if number >= first:
            lines.append(line)
        number += 1
    return lines, first, number - 1


def _from_end(chunks: Iterator[str], end: str, count: int, clip: int) -> Window:
    last: deque[str] = deque(maxlen=count)
    total = 0
    for line in _lines(chunks, end, clip):
        last.append(line)
        total += 1
    return list(last), total - len(last) + 1, total


def _lines(chunks: Iterable[str], end: str, clip: int) -> Iterator[str]:
    """Yield the lines, each cut to `clip` characters."""
    line = ""
    for chunk in chunks:
        *complete, rest = chunk.split(end)
        for piece in complete:
            yield (line + piece)[:clip]
            line = ""
        line = (line + rest)[:clip]
    if line:
        yield line
