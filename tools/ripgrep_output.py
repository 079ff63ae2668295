"""Incremental parser of ripgrep's output: the first matches in full, the others counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.json import Decoder

_WINDOW = 300
_FEW_PATHS = 10
"""Number of paths from which on they are grouped: fewer are easier to read in full."""
_LONGEST_RECORD = 4 * 1024 * 1024
_BEGIN, _MATCH, _CONTEXT = b'{"type":"begin"', b'{"type":"match"', b'{"type":"context"'
_NUMBER = re.compile(rb'"line_number":(\d+)')


class _Text(Struct, frozen=True):
    """Text in ripgrep's JSON: plain, or bytes if it is not UTF-8."""

    text: str | None = None
    raw: bytes = field(default=b"", name="bytes")

    def __str__(self) -> str:
        return self.raw.decode("cp1252", "replace") if self.text is None else self.text


class _Submatch(Struct, frozen=True):
    start: int


class _Data(Struct, frozen=True):
    path: _Text
    lines: _Text = _Text()
    line_number: int = 0
    submatches: tuple[_Submatch, ...] = ()


class _Record(Struct, frozen=True):
    data: _Data


_RECORDS = Decoder(_Record)


class MatchedLine(Struct, frozen=True):
    number: int
    text: str
    is_match: bool


class FileMatches(Struct):
    """Matching lines of a file, as far as they are kept; `count` is the number of matching lines."""

    name: str
    lines: list[MatchedLine] = []
    count: int = 0


class Matches:
    """Matches of a search: totals, and the first `limit` lines or files."""

    def __init__(self, limit: int, *, keeps_lines: bool) -> None:
        self.files: list[FileMatches] = []
        self.total = 0
        self.file_count = 0
        self.is_cut = False
        self._limit = limit
        self._keeps_lines = keeps_lines
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        if self._keeps_lines:
            self._feed_records(chunk)
        else:
            self._feed_counts(chunk)

    def finish(self) -> None:
        """Process the end of the output."""
        if self._keeps_lines and self._rest.endswith(b"}"):
            self._take(self._rest)
        self._rest = b""

    @property
    def _is_full(self) -> bool:
        return self.total >= self._limit

    def _feed_records(self, chunk: bytes) -> None:
        data = self._rest + chunk
        cut = data.rfind(b"\n") + 1
        # Only the kind of a record that is too long is kept; its end is yet to come.
        self._rest = data[cut:] if len(data) - cut < _LONGEST_RECORD else data[cut : cut + len(_CONTEXT)]
        at = 0
        while at < cut and not self._is_full:
            end = data.index(b"\n", at)
            self._take(data[at:end])
            at = end + 1
        if at < cut:
            self.file_count += _count(data, _BEGIN, at, cut)
            self.total += _count(data, _MATCH, at, cut)

    def _take(self, record: bytes) -> None:
        if record.startswith(_BEGIN):
            self.file_count += 1
            self.files.append(FileMatches(str(_RECORDS.decode(record).data.path)))
        elif record.startswith(_MATCH):
            self.total += 1
            self.files[-1].count += 1
            self.files[-1].lines += _matching_lines(record)
        elif record.startswith(_CONTEXT):
            self.files[-1].lines += _context_line(record)

    def _feed_counts(self, chunk: bytes) -> None:
        *records, self._rest = (self._rest + chunk).split(b"\n")
        for record in records:
            name, _, count = record.rpartition(b"\0")
            self.files.append(FileMatches(name.decode("utf-8", "surrogateescape"), count=int(count)))
            self.total += int(count)
            self.file_count += 1


def grouped_by_folder(paths: Sequence[str]) -> list[str]:
    """Return a long list of paths with those of one folder below its name, in the order of their first ones."""
    if len(paths) < _FEW_PATHS:
        return list(paths)
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path[: path.rfind("/") + 1], []).append(path)
    lines: list[str] = []
    for folder, within in folders.items():
        is_group = bool(folder) and len(within) > 1
        lines += [folder, *(f"  {path[len(folder) :]}" for path in within)] if is_group else within
    return lines


def _count(data: bytes, kind: bytes, start: int, end: int) -> int:
    """Count the records of a kind; the first record begins at `start`."""
    return data.count(b"\n" + kind, start, end) + data.startswith(kind, start)


def _matching_lines(record: bytes) -> list[MatchedLine]:
    """Return the line of a match, cut around it; several if the match spans line ends."""
    try:
        data = _RECORDS.decode(record).data
    except ValueError:
        number = _NUMBER.search(record)
        return [MatchedLine(int(number[1]) if number else 0, "[a line too long to show]", is_match=True)]
    text = str(data.lines)
    lines = text.rstrip("\r\n").split("\n")
    first = data.submatches[0].start if data.submatches and len(lines) == 1 else 0
    at = len(text.encode("utf-8", "surrogatepass")[:first].decode("utf-8", "ignore"))
    return [
        MatchedLine(data.line_number + offset, _windowed(line, at), is_match=offset == 0)
        for offset, line in enumerate(lines)
    ]


def _context_line(record: bytes) -> list[MatchedLine]:
    try:
        data = _RECORDS.decode(record).data
    except ValueError:
        return []
    return [MatchedLine(data.line_number, _windowed(str(data.lines), 0), is_match=False)]


def _windowed(line: str, at: int) -> str:
    line = line.rstrip("\r\n")
    if len(line) <= _WINDOW:
        return line
    start = min(max(at - _WINDOW // 3, 0), len(line) - _WINDOW)
    cut = line[start : start + _WINDOW]
    return ("…" if start else "") + cut + ("…" if start + _WINDOW < len(line) else "")
