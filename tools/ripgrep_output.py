"""Parser of ripgrep's output: one page of the matches in full, the others counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.json import Decoder

_WINDOW = 300
_FEW_PATHS = 10
"""Number of paths from which on they are grouped: fewer are easier to read in full."""
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
    """Matches of a search in the order of their files: the totals, and one page of them.

    The search runs in several threads and finds files in any order, so that a page is known at its end only.
    """

    def __init__(self, limit: int, *, keeps_lines: bool, offset: int = 0) -> None:
        """Create the collection.

        Args:
            limit: Number of lines of the page, or of files without lines.
            keeps_lines: True for the JSON output with lines, False for that of `--count --null`.
            offset: Number of lines or files before the page.
        """
        self.files: list[FileMatches] = []
        """Files of the page."""
        self.total = 0
        self.file_count = 0
        self.is_cut = False
        self._page = range(offset, offset + limit)
        self._keeps_lines = keeps_lines
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        self._chunks.append(chunk)

    def finish(self) -> None:
        """Process the output."""
        data = b"".join(self._chunks)
        self._chunks.clear()
        found = sorted(_records(data) if self._keeps_lines else _counts(data), key=lambda each: each.name)
        self.total = sum(each.count for each in found)
        self.file_count = len(found)
        if not self._keeps_lines:
            self.files = [FileMatches(each.name, [], each.count) for each in found[self._page.start : self._page.stop]]
            return
        before = 0
        for each in found:
            # Only records of the page are decoded.
            if before < self._page.stop and before + each.count > self._page.start:
                wanted = range(self._page.start - before, self._page.stop - before)
                self.files.append(FileMatches(each.name, _page_lines(each.records, wanted), each.count))
            before += each.count


class _Records(Struct, frozen=True):
    """Output about one file."""

    name: str
    count: int
    records: bytes = b""


def _records(data: bytes) -> Iterator[_Records]:
    """Divide JSON output by files; quotes in strings are escaped, so that the marks occur nowhere else."""
    for part in data.split(_BEGIN)[1:]:
        head, _, records = part.partition(b"\n")
        if count := records.count(_MATCH):
            yield _Records(str(_RECORDS.decode(_BEGIN + head).data.path), count, records)


def _counts(data: bytes) -> Iterator[_Records]:
    for record in data.split(b"\n")[:-1]:
        name, _, count = record.rpartition(b"\0")
        yield _Records(name.decode("utf-8", "surrogateescape"), int(count))


def _page_lines(records: bytes, wanted: range) -> list[MatchedLine]:
    """Return the lines of some matches of a file, by their numbers, and the context around them."""
    lines: list[MatchedLine] = []
    seen = 0
    for record in records.split(b"\n"):
        if record.startswith(_MATCH):
            if seen in wanted:
                lines += _matching_lines(record)
            seen += 1
        elif record.startswith(_CONTEXT) and wanted.start <= seen <= wanted.stop:
            lines += _context_line(record)
    return lines


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
