"""Long output cut in the middle: its beginning and its end say most."""

from __future__ import annotations

import re

from harness.lazy_dataclass import dataclass

_HEAD = 0.6
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_LONGEST_ESCAPE = 4096
_SLACK = 200


@dataclass(frozen=True, slots=True)
class Truncated:
    """`omitted` characters were left out of `text`; `total_bytes` is the size of the whole, as UTF-8."""

    text: str
    omitted: int
    total_bytes: int


def truncate(text: str, limit_chars: int) -> Truncated:
    """The first 60 % and the last 40 % of what is allowed, with a marker between.

    Never longer than `limit_chars` (or than the marker, if that is more); never cut inside an escape sequence; cut at
    the end of a line where one is near.
    """
    total = _utf8_length(text)
    if len(text) <= limit_chars:
        return Truncated(text, 0, total)
    room = max(limit_chars - len(_marker(len(text), total)), 0)
    head = _head_end(text, int(room * _HEAD))
    tail = _tail_start(text, len(text) - (room - int(room * _HEAD)))
    omitted = tail - head
    return Truncated(text[:head] + _marker(omitted, total) + text[tail:], omitted, total)


def _marker(omitted: int, total_bytes: int) -> str:
    return f"\n[… {omitted:,} characters left out of {total_bytes:,} bytes …]\n"


def _head_end(text: str, cut: int) -> int:
    line_end = text.rfind("\n", max(cut - _SLACK, 0), cut)
    if line_end > 0:
        cut = line_end
    escape = _escape_around(text, cut)
    return escape[0] if escape else cut


def _tail_start(text: str, cut: int) -> int:
    line_end = text.find("\n", cut, cut + _SLACK)
    if line_end >= 0:
        cut = line_end + 1
    escape = _escape_around(text, cut)
    return escape[1] if escape else cut


def _escape_around(text: str, cut: int) -> tuple[int, int] | None:
    """The escape sequence that a cut here would break."""
    start = text.rfind("\x1b", max(cut - _LONGEST_ESCAPE, 0), cut)
    # The end of an operating system command is an escape character and a backslash.
    if start > 0 and text[start : start + 2] == "\x1b\\":
        start = text.rfind("\x1b]", max(cut - _LONGEST_ESCAPE, 0), start)
    match = _ESCAPE.match(text, start) if start >= 0 else None
    return match.span() if match and match.end() > cut else None


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
