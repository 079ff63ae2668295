"""Layout of the transcript: blocks in one column, with estimated heights until they are visible."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from textual.selection import Selection

from cinch_tui.transcript.block import BlockPart, Channel, TranscriptBlock
from cinch_tui.transcript.heights import Heights
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.styles import BlockStyles

# Number of parts with cached lines; older ones are drawn again when they reappear.
KEPT = 800

# Lines to scroll at once while a reply grows: every scroll repaints the whole view.
JUMP = 4

# Lower serials are for blocks added at the top.
_FIRST_SERIAL = 1 << 20

_PART_BITS = 24
_LINE_BITS = 16


class LinePosition(NamedTuple):
    """A line: index of its block, of the part in the block, and of the line in the part."""

    block: int
    part: int
    line: int


START = LinePosition(0, 0, 0)


class ScreenRow(NamedTuple):
    """A line on the screen."""

    key: int
    """Line key: increases in reading order and stays valid when content above changes."""
    block: TranscriptBlock
    part: int
    line: StyledLine
    decorated: StyledLine | None = None
    """The line with decorations such as a time stamp, which are not part of the text."""

    @property
    def number(self) -> int:
        """Return the index of the line in its part."""
        return self.key & ((1 << _LINE_BITS) - 1)

    @property
    def shown(self) -> StyledLine:
        return self.decorated or self.line


class Layout:
    """Blocks in one column. Only requested lines are drawn."""

    def __init__(self, styles: BlockStyles) -> None:
        self.blocks: list[TranscriptBlock] = []
        self.heights = Heights()
        self.styles = styles
        self.width = 80
        self._serial = self._lowest = _FIRST_SERIAL
        self._drawn: dict[BlockPart, None] = {}

    @property
    def end(self) -> LinePosition:
        return LinePosition(len(self.blocks), 0, 0)

    def extend(self, blocks: Iterable[TranscriptBlock]) -> None:
        for block in blocks:
            before = next((other for other in reversed(self.blocks) if not other.hidden), None)
            block.serial = self._serial
            block.index = len(self.blocks)
            block.gap = _apart(before, block)
            self._serial += 1
            self.blocks.append(block)
            self.heights.extend((block.guess(self.width),))

    def measured(self, blocks: Sequence[TranscriptBlock]) -> Heights:
        """Set the blank lines between blocks that are to be inserted at the top; return their heights. Thread-safe."""
        before: TranscriptBlock | None = None
        for block in blocks:
            block.gap = _apart(before, block)
            before = before if block.hidden else block
        return Heights([block.guess(self.width) for block in blocks])

    def prepend(
        self, blocks: Sequence[TranscriptBlock], place: LinePosition, heights: Heights | None = None
    ) -> LinePosition:
        """Insert blocks at the top; return the new position of `place`.

        Args:
            blocks: The blocks.
            place: A position.
            heights: Heights of the blocks from `measured`, which this takes over; None measures them now.
        """
        first = self.blocks[0] if self.blocks else None
        had_gap = first is not None and first.gap
        heights = self.measured(blocks) if heights is None else heights
        heights.extend(self.heights)
        self.heights = heights
        self._lowest -= len(blocks)
        self.blocks[:0] = blocks
        for index, block in enumerate(self.blocks):
            block.index = index
        for serial, block in enumerate(blocks, self._lowest):
            block.serial = serial
        before = next((block for block in reversed(blocks) if not block.hidden), None)
        # Only the former blocks up to the first visible one have another block before them now.
        for block in self.blocks[len(blocks) :]:
            self._update_gap(before, block)
            if not block.hidden:
                break
        # The former first block has a blank line before it now.
        moved = place.block == 0 and first is not None and first.gap and not had_gap
        return LinePosition(place.block + len(blocks), place.part + moved, place.line)

    def remove(self, block: TranscriptBlock) -> None:
        self.blocks.pop(block.index)
        block.index = -1
        self._renumber()

    def hide(self, channels: Container[Channel]) -> None:
        """Hide the blocks of these channels and show all others."""
        for block in self.blocks:
            if block.hidden != (block.channel in channels):
                block.hidden = not block.hidden
                block.invalidate()
        self._renumber()

    def clear(self) -> None:
        for block in self.blocks:
            block.index = -1
        self.blocks.clear()
        self._drawn.clear()
        self.heights = Heights()

    def fit(self, styles: BlockStyles, width: int, place: LinePosition) -> LinePosition:
        """Change the width or styles, and return the line with the character that starts `place` now.

        Heights outside the view are estimated again.
        """
        offset = sum(map(_length, self._lines_at(place)[: place.line]))
        self.styles = styles
        self.width = width
        self._drawn.clear()
        self.heights = Heights(block.guess(width) for block in self.blocks)
        lines = self._lines_at(place)
        ends = accumulate(map(_length, lines))
        number = next((number for number, end in enumerate(ends) if offset < end), 0)
        return place._replace(line=number) if lines else LinePosition(place.block, 0, 0)

    def advance(self, block: TranscriptBlock) -> bool:
        """Update a changed block; return True if more remains."""
        more = block.advance(self.styles, self.width)
        self.heights[block.index] = block.heights.total
        if block.index + 1 < len(self.blocks) and not block.hidden:
            self._update_gap(block, self.blocks[block.index + 1])
        return more

    def lines(self, block: TranscriptBlock, part: int) -> Sequence[StyledLine]:
        """Return the lines of a part, drawing it if necessary, and record its height."""
        shown = block.parts[part]
        lines = shown.lines(self.styles, self.width)
        self._keep(shown)
        if block.heights[part] != len(lines):
            block.heights[part] = len(lines)
            self.heights[block.index] = block.heights.total
        return lines

    def lines_of(self, block: TranscriptBlock) -> Iterator[StyledLine]:
        """Return all lines of a block, drawing it if necessary."""
        self.place_of(block)
        for part in range(len(block.parts)):
            yield from self.lines(block, part)

    def rows(self, place: LinePosition, count: int) -> list[ScreenRow]:
        """Return at most `count` rows from `place` down."""
        result: list[ScreenRow] = []
        part, line = place.part, place.line
        for index in range(place.block, len(self.blocks)):
            block = self._opened(index)
            while part < len(block.parts) and len(result) < count:
                lines = self.lines(block, part)
                for number in range(line, min(len(lines), line + count - len(result))):
                    result.append(ScreenRow(row_key(block, part, number), block, part, lines[number]))
                part, line = part + 1, 0
            if len(result) >= count:
                break
            part, line = 0, 0
        return result

    def above(self, place: LinePosition, count: int) -> LinePosition:
        """Return the place `count` lines above, or the start."""
        block, part, line = place
        rest = count
        while rest > line:
            rest -= line
            while part == 0:
                if block == 0:
                    return START
                block -= 1
                part = len(self._opened(block).parts)
            part -= 1
            line = len(self.lines(self.blocks[block], part))
        return LinePosition(block, part, line - rest)

    def below(self, place: LinePosition, count: int) -> LinePosition:
        """Return the place `count` lines below, or the end."""
        rows = self.rows(place, count + 1)
        return self.place_of_key(rows[count].key) if len(rows) > count else self.end

    def end_view(self, top: LinePosition, height: int) -> tuple[LinePosition, list[ScreenRow]]:
        """Return the top and rows of a view at the end; the view keeps `top` if the end is visible from there."""
        # While the estimate says that the end is far below, nothing in between is drawn.
        if self.heights.total - self.row_of(top) <= height + JUMP:
            rows = self.rows(top, height + 1)
            if len(rows) <= height and (top == START or height - len(rows) <= JUMP):
                return top, rows
        growing = any(block.growing for block in self.blocks[-3:])
        top = self.above(self.end, height - (JUMP if growing and height > 2 * JUMP else 0))
        return top, self.rows(top, height)

    def row_of(self, place: LinePosition) -> int:
        """Return the estimated number of lines above."""
        above = self.heights.before(place.block)
        if place.block < len(self.blocks):
            above += self._opened(place.block).heights.before(place.part)
        return above + place.line

    def place_at(self, row: int) -> LinePosition:
        """Return the place at an estimated row."""
        if not self.blocks:
            return START
        index, inside = self.heights.find(row)
        block = self._opened(index)
        if not block.parts:
            return LinePosition(index, 0, 0)
        part, line = block.heights.find(inside)
        return LinePosition(index, part, min(line, max(0, len(self.lines(block, part)) - 1)))

    def place_of(self, block: TranscriptBlock) -> LinePosition:
        """Return the start of a block, below its blank line."""
        opened = self._opened(block.index)
        return LinePosition(block.index, 1 if block.gap and len(opened.parts) > 1 else 0, 0)

    def place_of_key(self, key: int) -> LinePosition:
        """Return the place of a line key."""
        serial, part, line = key_parts(key)
        return LinePosition(self.block_with(serial), part, line)

    def selected_text(self, selection: Selection) -> str:
        """Return the selected text without gutters and soft line breaks; of fully selected blocks, the source."""
        start, end = selection
        first = self.block_with(key_parts(start.y)[0]) if start is not None else 0
        last = self.block_with(key_parts(end.y)[0]) if end is not None else len(self.blocks)
        chunks: list[str] = []
        for block in self.blocks[first : last + 1]:
            ends_inside = (start is not None and block.index == first) or (end is not None and block.index == last)
            text = self._selected_lines(block, selection) if ends_inside else block.source
            chunks.append(text.strip("\n"))
        return "\n\n".join(chunk for chunk in chunks if chunk)

    def _selected_lines(self, block: TranscriptBlock, selection: Selection) -> str:
        text = ""
        self.place_of(block)
        for part in range(len(block.parts)):
            for number, line in enumerate(self.lines(block, part)):
                span = selection.get_span(row_key(block, part, number))
                if span is not None:
                    start, end = span
                    visible = line.text if end == -1 else line.text[:end]
                    text += visible[max(start, line.gutter) :] + (line.end if end == -1 else "")
        return text

    def block_with(self, serial: int) -> int:
        """Return the index of the first block whose serial is at least `serial`."""
        return bisect_left(self.blocks, serial, key=lambda block: block.serial)

    def neighbor(self, index: int, step: int, wanted: Callable[[TranscriptBlock], bool]) -> TranscriptBlock | None:
        """Return the next matching block above (-1) or below (1)."""
        places = range(index + step, len(self.blocks) if step > 0 else -1, step)
        blocks = (self.blocks[place] for place in places)
        return next((block for block in blocks if not block.hidden and wanted(block)), None)

    def _lines_at(self, place: LinePosition) -> Sequence[StyledLine]:
        """Return the lines of the part of `place`, if it exists."""
        if place.block >= len(self.blocks) or place.part >= len(self._opened(place.block).parts):
            return ()
        return self.lines(self.blocks[place.block], place.part)

    def _opened(self, index: int) -> TranscriptBlock:
        block = self.blocks[index]
        block.open(self.styles, self.width)
        if self.heights[index] != block.heights.total:
            self.heights[index] = block.heights.total
        return block

    def _keep(self, part: BlockPart) -> None:
        self._drawn.pop(part, None)
        self._drawn[part] = None
        if len(self._drawn) > KEPT:
            oldest = next(iter(self._drawn))
            del self._drawn[oldest]
            oldest.forget()

    def _update_gap(self, before: TranscriptBlock | None, block: TranscriptBlock) -> None:
        """Update the blank line before `block` according to the block before it."""
        gap = _apart(before, block)
        if gap != block.gap:
            block.gap = gap
            block.invalidate()
            self.heights[block.index] = block.guess(self.width)

    def _renumber(self) -> None:
        self.heights = Heights(block.guess(self.width) for block in self.blocks)
        before: TranscriptBlock | None = None
        for index, block in enumerate(self.blocks):
            block.index = index
            self._update_gap(before, block)
            before = before if block.hidden else block


def _length(line: StyledLine) -> int:
    """Return the number of characters of a line without its gutter, which does not depend on the width."""
    return len(line.text) - line.gutter + len(line.end)


def _apart(before: TranscriptBlock | None, block: TranscriptBlock) -> bool:
    """Return True if a blank line separates the blocks: folded calls and notices are grouped."""
    if before is None:
        return False
    return type(before) is not type(block) or not (block.is_grouped and before.is_grouped)


def row_key(block: TranscriptBlock, part: int, line: int) -> int:
    return (block.serial << _PART_BITS | part) << _LINE_BITS | line


def key_parts(key: int) -> tuple[int, int, int]:
    """Split a key into serial, part and line."""
    place, line = key >> _LINE_BITS, key & ((1 << _LINE_BITS) - 1)
    return place >> _PART_BITS, place & ((1 << _PART_BITS) - 1), line
