"""Incremental search in the transcript, by source text in time slices, without drawing invisible blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from time import perf_counter
from typing import NamedTuple, Self

from msgspec import Struct

from cinch_tui.transcript.block import BlockPart, TranscriptBlock
from cinch_tui.transcript.layout import Layout, LinePosition, ScreenRow, key_parts
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.painting import Highlight

# Two words may be separated by emphasis markers, which are not drawn, and by a line break, even in a quotation.
_BETWEEN = r"[*_~`]*(?:[ \t]+|[ \t]*\n[ \t>]*)[*_~`]*"


class MatchSpan(NamedTuple):
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

    def spans(self, lines: Sequence[StyledLine]) -> dict[int, list[MatchSpan]]:
        """Return the matches in drawn lines by line number, ignoring soft line breaks."""
        starts: list[int] = []
        text = ""
        for line in lines:
            starts.append(len(text))
            text += line.text[line.gutter :] + line.end
        found: dict[int, list[MatchSpan]] = {}
        for number, match in enumerate(self.pattern.finditer(text)):
            at = bisect_right(starts, match.start()) - 1
            while at < len(lines) and starts[at] < match.end():
                line = lines[at]
                shift = line.gutter - starts[at]
                span = MatchSpan(
                    max(line.gutter, match.start() + shift), min(len(line.text), match.end() + shift), number
                )
                if span.start < span.end:
                    found.setdefault(at, []).append(span)
                at += 1
        return found


# Number of parts with cached matches; more than fit on a screen.
KEPT = 400


class Match(NamedTuple):
    """A match: its block, and its number in the block."""

    block: TranscriptBlock
    number: int


class Search:
    """Search state and results. `current` is the selected match."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._query: SearchQuery | None = None
        self._near = 0
        self._waiting: deque[TranscriptBlock] = deque()
        self._counts: dict[TranscriptBlock, int] = {}
        # Cached, since extracting the text of a tool call is expensive.
        self._texts: dict[TranscriptBlock, str] = {}
        self._spans: dict[BlockPart, tuple[Sequence[StyledLine], dict[int, list[MatchSpan]]]] = {}
        self._spot: tuple[TranscriptBlock, int, int] | None = None
        self.current: Match | None = None

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    @property
    def position(self) -> int:
        """Return the number of the current match, from 1; 0 if none."""
        if self.current is None:
            return 0
        block, number = self.current
        return 1 + number + sum(count for other, count in self._counts.items() if other.index < block.index)

    def find(self, query: str, near: int) -> None:
        """Start a search at the block with index `near`: upward first, then the blocks below."""
        self.reset()
        self._query = SearchQuery.of(query)
        self._near = near
        if self._query is not None:
            blocks = self._layout.blocks
            self._waiting.extend(chain(reversed(blocks[: near + 1]), blocks[near + 1 :]))

    def reset(self) -> None:
        """Clear the results."""
        self._waiting.clear()
        self._counts.clear()
        self._spans.clear()
        self._spot = self.current = None

    def empty(self) -> None:
        """Clear results and cached texts; new blocks are still searched."""
        self.reset()
        self._texts.clear()

    def enqueue(self, blocks: Iterable[TranscriptBlock]) -> bool:
        """Search new or changed blocks; return True if the search was idle."""
        if self._query is None:
            return False
        idle = not self._waiting
        for block in blocks:
            self._texts.pop(block, None)
            if not self._waiting or self._waiting[-1] is not block:
                self._waiting.append(block)
        return idle and bool(self._waiting)

    def forget(self, block: TranscriptBlock) -> None:
        self._texts.pop(block, None)
        self._counts.pop(block, None)
        if self.current is not None and self.current.block is block:
            self.current = None

    def search_until(self, deadline: float) -> bool:
        """Search until the deadline; return True if blocks remain."""
        while self._waiting:
            block = self._waiting.popleft()
            if block.index >= 0:
                self._search_block(block)
            if perf_counter() > deadline:
                break
        return bool(self._waiting)

    def _search_block(self, block: TranscriptBlock) -> None:
        query = self._query
        if query is None:
            return
        text = self._texts.get(block)
        if text is None:
            text = self._texts[block] = "" if block.hidden else block.search_text
        count = query.count(text)
        if self.current is not None and self.current.block is block and self.current.number >= count:
            self.current = None
        if not count:
            self._counts.pop(block, None)
            return
        self._counts[block] = count
        if self.current is None:
            self.current = Match(block, 0 if block.index > self._near else count - 1)

    def step(self, by: int) -> None:
        """Select the next (1) or previous (-1) match, wrapping around."""
        if self.current is None:
            return
        block, number = self.current
        if 0 <= number + by < self._counts.get(block, 0):
            self.current = Match(block, number + by)
            return
        found = sorted(self._counts, key=lambda each: each.index * by)
        ahead = next((each for each in found if each.index * by > block.index * by), found[0] if found else None)
        self.current = Match(ahead, 0 if by > 0 else self._counts[ahead] - 1) if ahead is not None else None

    def locate(self) -> LinePosition | None:
        """Return the line of the current match, drawing its part; None if its block is folded."""
        if self.current is None or self._query is None:
            return None
        block, number = self.current
        self._layout.place_of(block)
        for index, part in enumerate(block.parts):
            count = self._query.count(part.text)
            if number < count:
                return self._located(index, number)
            number -= count
        self._spot = None
        return None

    def _located(self, part: int, number: int) -> LinePosition:
        """Return the line of a match in a part, or of the last drawn one."""
        assert self.current is not None, "only a current match is located"
        block = self.current.block
        found = self._spans_of(block.parts[part], self._layout.lines(block, part))
        drawn = [(span.number, line) for line, spans in found.items() for span in spans]
        last = max((each for each, _ in drawn), default=0)
        number = min(number, last)
        self._spot = (block, part, number)
        return LinePosition(block.index, part, min((line for each, line in drawn if each == number), default=0))

    def highlights(self, row: ScreenRow) -> list[Highlight]:
        """Return the highlights of a visible line."""
        block = row.block
        if self._query is None or block not in self._counts or block.index < 0 or row.part >= len(block.parts):
            return []
        lines = self._layout.lines(block, row.part)
        number = key_parts(row.key)[2]
        styles = self._layout.styles
        found: list[Highlight] = []
        for span in self._spans_of(block.parts[row.part], lines).get(number, ()):
            is_current = self._spot == (block, row.part, span.number)
            found.append(Highlight(span.start, span.end, styles["match-current" if is_current else "match"]))
        return found

    def _spans_of(self, part: BlockPart, lines: Sequence[StyledLine]) -> dict[int, list[MatchSpan]]:
        assert self._query is not None, "a query is set"
        known = self._spans.get(part)
        if known is not None and known[0] is lines:
            return known[1]
        if len(self._spans) > KEPT:
            self._spans.clear()
        spans = self._query.spans(lines)
        self._spans[part] = (lines, spans)
        return spans
