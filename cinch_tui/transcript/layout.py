"""Layout of the transcript: blocks in one column, with estimated heights until they are visible."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cinch_tui.transcript.block import Block
from cinch_tui.transcript.heights import Heights

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from cinch_tui.transcript.block import Channel, Part
    from cinch_tui.transcript.lines import Line
    from cinch_tui.transcript.styles import BlockStyles

# Number of parts with cached lines; older ones are drawn again when they reappear.
KEPT = 800

# Lines to scroll at once while a reply grows: every scroll repaints the whole view.
JUMP = 4

# Lower serials are for blocks added at the top.
_FIRST_SERIAL = 1 << 20

_PART_BITS = 24
_LINE_BITS = 16


class Place(NamedTuple):
    """A line: index of its block, of the part in the block, and of the line in the part."""

    block: int
    part: int
    line: int


START = Place(0, 0, 0)


class Row(NamedTuple):
    """A line on the screen."""

    key: int
    """Line key: increases in reading order and stays valid when content above changes."""
    block: Block
    part: int
    line: Line
    dressed: Line | None = None
    """The line with decorations such as a time stamp, which are not part of the text."""

    @property
    def number(self) -> int:
        """Return the index of the line in its part."""
        return self.key & ((1 << _LINE_BITS) - 1)

    @property
    def shown(self) -> Line:
        return self.dressed or self.line


class Layout:
    """Blocks in one column. Only requested lines are drawn."""

    def __init__(self, look: BlockStyles) -> None:
        self.blocks: list[Block] = []
        self.heights = Heights()
        self.look = look
        self.width = 80
        self._serial = self._lowest = _FIRST_SERIAL
        self._drawn: dict[Part, None] = {}

    @property
    def end(self) -> Place:
        return Place(len(self.blocks), 0, 0)

    def extend(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            before = next((other for other in reversed(self.blocks) if not other.hidden), None)
            block.serial = self._serial
            block.index = len(self.blocks)
            block.gap = _apart(before, block)
            self._serial += 1
            self.blocks.append(block)
            self.heights.extend((block.guess(self.width),))

    def prepend(self, blocks: Sequence[Block], place: Place) -> Place:
        """Insert blocks at the top; return the new position of `place`."""
        first = self.blocks[0] if self.blocks else None
        stood_apart = first is not None and first.gap
        self._lowest -= len(blocks)
        for serial, block in enumerate(blocks, self._lowest):
            block.serial = serial
        self.blocks[:0] = blocks
        self._renumber()
        # The former first block has a blank line before it now.
        moved = place.block == 0 and first is not None and first.gap and not stood_apart
        return Place(place.block + len(blocks), place.part + moved, place.line)

    def remove(self, block: Block) -> None:
        self.blocks.pop(block.index)
        block.index = -1
        self._renumber()

    def hide(self, channels: Container[Channel]) -> None:
        """Hide the blocks of these channels and show all others."""
        for block in self.blocks:
            if block.hidden != (block.channel in channels):
                block.hidden = not block.hidden
                block.redraw()
        self._renumber()

    def clear(self) -> None:
        for block in self.blocks:
            block.index = -1
        self.blocks.clear()
        self._drawn.clear()
        self.heights = Heights()

    def fit(self, look: BlockStyles, width: int) -> None:
        """Change the width or styles; heights outside the view are estimated again."""
        self.look = look
        self.width = width
        self._drawn.clear()
        self.heights = Heights(block.guess(width) for block in self.blocks)

    def advance(self, block: Block) -> bool:
        """Update a changed block; return True if more remains."""
        more = block.advance(self.look, self.width)
        self.heights[block.index] = block.heights.total
        if block.index + 1 < len(self.blocks) and not block.hidden:
            self._part(block, self.blocks[block.index + 1])
        return more

    def lines(self, block: Block, part: int) -> Sequence[Line]:
        """Return the lines of a part, drawing it if necessary, and record its height."""
        shown = block.parts[part]
        lines = shown.lines(self.look, self.width)
        self._keep(shown)
        if block.heights[part] != len(lines):
            block.heights[part] = len(lines)
            self.heights[block.index] = block.heights.total
        return lines

    def lines_of(self, block: Block) -> Iterator[Line]:
        """Return all lines of a block, drawing it if necessary."""
        self.place_of(block)
        for part in range(len(block.parts)):
            yield from self.lines(block, part)

    def rows(self, place: Place, count: int) -> list[Row]:
        """Return at most `count` rows from `place` down."""
        result: list[Row] = []
        part, line = place.part, place.line
        for index in range(place.block, len(self.blocks)):
            block = self._opened(index)
            while part < len(block.parts) and len(result) < count:
                lines = self.lines(block, part)
                for number in range(line, min(len(lines), line + count - len(result))):
                    result.append(Row(row_key(block, part, number), block, part, lines[number]))
                part, line = part + 1, 0
            if len(result) >= count:
                break
            part, line = 0, 0
        return result

    def above(self, place: Place, count: int) -> Place:
        """Return the place `count` lines above, or the start."""
        block, part, line = place
        rest = count
        while rest > line:
            rest -= line
            before = self._part_before(block, part)
            if before is None:
                return START
            block, part = before
            line = len(self.lines(self.blocks[block], part))
        return Place(block, part, line - rest)

    def below(self, place: Place, count: int) -> Place:
        """Return the place `count` lines below, or the end."""
        block, part, line = place
        rest = count + line
        while block < len(self.blocks):
            opened = self._opened(block)
            while part < len(opened.parts):
                height = len(self.lines(opened, part))
                if rest < height:
                    return Place(block, part, rest)
                rest -= height
                part += 1
            block, part = block + 1, 0
        return self.end

    def end_view(self, top: Place, height: int) -> tuple[Place, list[Row]]:
        """Return the top and rows of a view at the end; the view keeps `top` if the end is visible from there."""
        # While the estimate says that the end is far below, nothing in between is drawn.
        if self.heights.total - self.row_of(top) <= height + JUMP:
            rows = self.rows(top, height + 1)
            if len(rows) <= height and (top == START or height - len(rows) <= JUMP):
                return top, rows
        growing = any(block.growing for block in self.blocks[-3:])
        top = self.above(self.end, height - (JUMP if growing and height > 2 * JUMP else 0))
        return top, self.rows(top, height)

    def row_of(self, place: Place) -> int:
        """Return the estimated number of lines above."""
        above = self.heights.before(place.block)
        if place.block < len(self.blocks):
            above += self._opened(place.block).heights.before(place.part)
        return above + place.line

    def place_at(self, row: int) -> Place:
        """Return the place at an estimated row."""
        if not self.blocks:
            return START
        index, inside = self.heights.find(row)
        block = self._opened(index)
        if not block.parts:
            return Place(index, 0, 0)
        part, line = block.heights.find(inside)
        return Place(index, part, min(line, max(0, len(self.lines(block, part)) - 1)))

    def place_of(self, block: Block) -> Place:
        """Return the start of a block, below its blank line."""
        opened = self._opened(block.index)
        return Place(block.index, 1 if block.gap and len(opened.parts) > 1 else 0, 0)

    def block_with(self, serial: int) -> int:
        """Return the index of the first block whose serial is at least `serial`."""
        return bisect_left(self.blocks, serial, key=lambda block: block.serial)

    def beside(self, index: int, step: int, wanted: Callable[[Block], bool]) -> Block | None:
        """Return the next matching block above (-1) or below (1)."""
        index += step
        while 0 <= index < len(self.blocks):
            if not self.blocks[index].hidden and wanted(self.blocks[index]):
                return self.blocks[index]
            index += step
        return None

    def reading_offset(self, place: Place) -> int:
        """Return the number of characters of the part before `place`, which does not depend on the width."""
        if place.block >= len(self.blocks):
            return 0
        block = self._opened(place.block)
        if place.part >= len(block.parts):
            return 0
        return sum(len(line.text) - line.gutter + len(line.end) for line in self.lines(block, place.part)[: place.line])

    def place_with_offset(self, place: Place, offset: int) -> Place:
        """Return the line of the same part that contains the character at `offset`."""
        if place.block >= len(self.blocks):
            return self.end
        block = self._opened(place.block)
        if place.part >= len(block.parts):
            return Place(place.block, 0, 0)
        rest = offset
        for number, line in enumerate(self.lines(block, place.part)):
            rest -= len(line.text) - line.gutter + len(line.end)
            if rest < 0:
                return Place(place.block, place.part, number)
        return Place(place.block, place.part, 0)

    def _part_before(self, block: int, part: int) -> tuple[int, int] | None:
        while part == 0:
            if block == 0:
                return None
            block -= 1
            part = len(self._opened(block).parts)
        return block, part - 1

    def _opened(self, index: int) -> Block:
        block = self.blocks[index]
        block.open(self.look, self.width)
        if self.heights[index] != block.heights.total:
            self.heights[index] = block.heights.total
        return block

    def _keep(self, part: Part) -> None:
        self._drawn.pop(part, None)
        self._drawn[part] = None
        if len(self._drawn) > KEPT:
            oldest = next(iter(self._drawn))
            del self._drawn[oldest]
            oldest.forget()

    def _part(self, before: Block | None, block: Block) -> None:
        """Update the blank line before `block` according to the block before it."""
        gap = _apart(before, block)
        if gap != block.gap:
            block.gap = gap
            block.redraw()
            self.heights[block.index] = block.guess(self.width)

    def _renumber(self) -> None:
        self.heights = Heights(block.guess(self.width) for block in self.blocks)
        before: Block | None = None
        for index, block in enumerate(self.blocks):
            block.index = index
            self._part(before, block)
            before = before if block.hidden else block


def _apart(before: Block | None, block: Block) -> bool:
    """Return True if a blank line separates the blocks: folded calls and notices are grouped."""
    if before is None:
        return False
    return type(before) is not type(block) or not (block.close_to_its_like and before.close_to_its_like)


def row_key(block: Block, part: int, line: int) -> int:
    return (block.serial << _PART_BITS | part) << _LINE_BITS | line


def key_parts(key: int) -> tuple[int, int, int]:
    """Split a key into serial, part and line."""
    place, line = key >> _LINE_BITS, key & ((1 << _LINE_BITS) - 1)
    return place >> _PART_BITS, place & ((1 << _PART_BITS) - 1), line
