"""Incremental search in the transcript, by source text in time slices, without drawing invisible blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from cinch_tui.transcript.layout import Place, key_parts
from cinch_tui.transcript.painting import Marks
from cinch_tui.transcript.search_query import SearchQuery, Span

if TYPE_CHECKING:
    from cinch_tui.transcript.block import Block, Part
    from cinch_tui.transcript.layout import Layout, Row
    from cinch_tui.transcript.lines import Line

# Number of parts with cached matches; more than fit on a screen.
KEPT = 400


class Match(NamedTuple):
    """A match: its block, and its number in the block."""

    block: Block
    number: int


class Search:
    """Search state and results. `current` is the selected match."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._needle: SearchQuery | None = None
        self._near = 0
        self._waiting: deque[Block] = deque()
        self._counts: dict[Block, int] = {}
        # Cached, since extracting the text of a tool call is expensive.
        self._texts: dict[Block, str] = {}
        self._spans: dict[Part, tuple[Sequence[Line], dict[int, list[Span]]]] = {}
        self._spot: tuple[Block, int, int] | None = None
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
        self._needle = SearchQuery.of(query)
        self._near = near
        if self._needle is not None:
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

    def look_again(self, blocks: Iterable[Block]) -> bool:
        """Search new or changed blocks; return True if the search was idle."""
        if self._needle is None:
            return False
        idle = not self._waiting
        for block in blocks:
            self._texts.pop(block, None)
            if not self._waiting or self._waiting[-1] is not block:
                self._waiting.append(block)
        return idle and bool(self._waiting)

    def forget(self, block: Block) -> None:
        self._texts.pop(block, None)
        self._counts.pop(block, None)
        if self.current is not None and self.current.block is block:
            self.current = None

    def look(self, deadline: float) -> bool:
        """Search until the deadline; return True if blocks remain."""
        while self._waiting:
            block = self._waiting.popleft()
            if block.index >= 0:
                self._look_at(block)
            if perf_counter() > deadline:
                break
        return bool(self._waiting)

    def _look_at(self, block: Block) -> None:
        needle = self._needle
        if needle is None:
            return
        text = self._texts.get(block)
        if text is None:
            text = self._texts[block] = "" if block.hidden else block.searched
        count = needle.count(text)
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

    def locate(self) -> Place | None:
        """Return the line of the current match, drawing its part; None if its block is folded."""
        if self.current is None or self._needle is None:
            return None
        block, number = self.current
        self._layout.place_of(block)
        for index, part in enumerate(block.parts):
            count = self._needle.count(part.text)
            if number < count:
                return self._located(index, number)
            number -= count
        self._spot = None
        return None

    def _located(self, part: int, number: int) -> Place:
        """Return the line of a match in a part, or of the last drawn one."""
        assert self.current is not None, "only a current match is located"
        block = self.current.block
        found = self._spans_of(block.parts[part], self._layout.lines(block, part))
        drawn = [(span.number, line) for line, spans in found.items() for span in spans]
        last = max((each for each, _ in drawn), default=0)
        number = min(number, last)
        self._spot = (block, part, number)
        return Place(block.index, part, min((line for each, line in drawn if each == number), default=0))

    def marks(self, row: Row) -> list[Marks]:
        """Return the highlights of a visible line."""
        block = row.block
        if self._needle is None or block not in self._counts or block.index < 0 or row.part >= len(block.parts):
            return []
        lines = self._layout.lines(block, row.part)
        number = key_parts(row.key)[2]
        look = self._layout.look
        found: list[Marks] = []
        for span in self._spans_of(block.parts[row.part], lines).get(number, ()):
            is_current = self._spot == (block, row.part, span.number)
            found.append(Marks(span.start, span.end, look["match-current" if is_current else "match"]))
        return found

    def _spans_of(self, part: Part, lines: Sequence[Line]) -> dict[int, list[Span]]:
        assert self._needle is not None, "a query is set"
        known = self._spans.get(part)
        if known is not None and known[0] is lines:
            return known[1]
        if len(self._spans) > KEPT:
            self._spans.clear()
        spans = self._needle.spans(lines)
        self._spans[part] = (lines, spans)
        return spans
