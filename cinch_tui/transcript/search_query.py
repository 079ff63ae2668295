"""Search query, applied to source text and to drawn lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec import Struct

if TYPE_CHECKING:
    from cinch_tui.transcript.lines import Line

# Two words may be separated by emphasis markers, which are not drawn, and by a line break, even in a quotation.
_BETWEEN = r"[*_~`]*(?:[ \t]+|[ \t]*\n[ \t>]*)[*_~`]*"


class Span(NamedTuple):
    """Characters of a line that belong to a match, and the number of the match in its part."""

    start: int
    end: int
    number: int


class SearchQuery(Struct, frozen=True):
    """Search pattern with smart case: case-sensitive if the query contains capitals."""

    pattern: re.Pattern[str]
    longest: str
    is_exact: bool

    @classmethod
    def of(cls, query: str) -> Self | None:
        words = query.split()
        if not words:
            return None
        is_exact = query != query.lower()
        pattern = re.compile(_BETWEEN.join(map(re.escape, words)), 0 if is_exact else re.IGNORECASE)
        return cls(pattern, max(words, key=len), is_exact)

    def count(self, text: str) -> int:
        """Count the matches in `text`."""
        # A plain substring search is many times faster than the pattern and usually finds nothing.
        if self.longest not in (text if self.is_exact else text.lower()):
            return 0
        return sum(1 for _ in self.pattern.finditer(text))

    def spans(self, lines: Sequence[Line]) -> dict[int, list[Span]]:
        """Return the matches in drawn lines by line number, ignoring soft line breaks."""
        starts: list[int] = []
        text = ""
        for line in lines:
            starts.append(len(text))
            text += line.text[line.gutter :] + line.end
        found: dict[int, list[Span]] = {}
        for number, match in enumerate(self.pattern.finditer(text)):
            at = bisect_right(starts, match.start()) - 1
            while at < len(lines) and starts[at] < match.end():
                line = lines[at]
                shift = line.gutter - starts[at]
                span = Span(max(line.gutter, match.start() + shift), min(len(line.text), match.end() + shift), number)
                if span.start < span.end:
                    found.setdefault(at, []).append(span)
                at += 1
        return found
