from __future__ import annotations

import io

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from cinch_tui.terminal.cell_diff import ScreenCells

COLUMNS, ROWS = 24, 3
CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
STYLES = [
    Style(),
    Style(color="red"),
    Style(color="#112233", bgcolor="#000000", meta={"offset": (1, 2)}),
    Style(color="red", link="https://example.org"),
    Style(bold=True, meta={"offset": (0, 7)}),
]
# pyte adds a combining character at the start of a row to the end of the row above, which terminals do not.
TEXTS = st.text("ab 漢e\u0301•", max_size=COLUMNS).filter(lambda text: not text.startswith("\u0301"))
SEGMENTS = st.lists(st.builds(Segment, TEXTS, st.sampled_from(STYLES), st.none()), max_size=4)
# A column where one widget ends and another begins.
CUTS = st.sampled_from([5, 12, 23])
LINES = st.lists(st.tuples(st.integers(0, ROWS - 1), CUTS, SEGMENTS, SEGMENTS), min_size=1, max_size=ROWS)


def chop(segments: list[Segment], width: int) -> Strip:
    return Strip(segments).adjust_cell_length(width).crop(0, width)


def update(lines: list) -> ChopsUpdate:
    chops: list[dict[int, Strip | None]] = [{0: None} for _ in range(ROWS)]
    ends = [[COLUMNS] for _ in range(ROWS)]
    for y, cut, left, right in lines:
        chops[y] = {0: chop(left, cut), cut: chop(right, COLUMNS - cut)}
        ends[y] = [cut, COLUMNS]
    return ChopsUpdate(chops, [(y, 0, COLUMNS) for y in sorted({line[0] for line in lines})], ends)


class Painted:
    """A terminal, and what was written to it."""

    def __init__(self) -> None:
        # One more column: pyte wraps before a combining character after the last column, which terminals do not.
        self.screen = pyte.Screen(COLUMNS + 1, ROWS)
        self.written = ""

    def write(self, rendered) -> str:
        self.written = rendered.render_segments(CONSOLE)
        pyte.Stream(self.screen).feed(self.written)
        return self.written

    @property
    def cells(self) -> list:
        return [[self.screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]


@settings(max_examples=40, deadline=None)
@given(frames=st.lists(LINES, min_size=1, max_size=6))
def test_omitted_parts_were_already_shown(frames: list) -> None:
    whole, spared, screenful = Painted(), Painted(), ScreenCells()

    for lines in frames:
        whole.write(update(lines))
        spared.write(screenful.minimize(update(lines)))

    assert spared.cells == whole.cells


def test_only_the_cells_that_differ_are_written() -> None:
    screenful, terminal = ScreenCells(), Painted()
    terminal.write(screenful.minimize(update([(1, 12, [Segment("working | 00:01")], [Segment("model")])])))

    terminal.write(screenful.minimize(update([(1, 12, [Segment("working / 00:01")], [Segment("model")])])))

    assert terminal.written == "\x1b[2;9H/"


def test_the_same_again_writes_nothing_even_where_its_offsets_moved() -> None:
    screenful, terminal = ScreenCells(), Painted()
    before, after = (Style(color="red", meta={"offset": (0, line)}) for line in (1, 2))
    terminal.write(screenful.minimize(update([(0, 5, [Segment("text", before)], [])])))

    terminal.write(screenful.minimize(update([(0, 5, [Segment("text", after)], [])])))

    assert terminal.written == ""


def test_a_whole_picture_is_written_whole_and_so_is_the_first_change_after_it() -> None:
    screenful, terminal = ScreenCells(), Painted()
    line = update([(0, 5, [Segment("text")], [])])
    terminal.write(screenful.minimize(line))
    everything = LayoutUpdate([[Strip.blank(COLUMNS)]] * ROWS, Region(0, 0, COLUMNS, ROWS))

    assert screenful.minimize(everything) is everything
    terminal.write(everything)
    terminal.write(screenful.minimize(line))

    assert terminal.screen.display[0].rstrip() == "text"
