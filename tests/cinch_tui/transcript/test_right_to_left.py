from __future__ import annotations

import pyte
import pytest
from fakes.transcript_stage import Stage
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style
from wcwidth import wcswidth

from cinch_tui.transcript.blocks import ReplyBlock, UserBlock
from cinch_tui.transcript.layout import START, Layout
from cinch_tui.transcript.painting import paint_line
from cinch_tui.transcript.styles import BlockStyles
from harness.terminal_text import escape_controls

SMALL = (44, 24)
HEBREW, ARABIC = "שָׁלוֹם עוֹלָם", "مَرْحَبًا بِالْعَالَمِ لا"
# Of the spacing vowel signs of Indic scripts terminals themselves have two opinions.
PIECES = (
    *(HEBREW, ARABIC, "اَلْعَرَبِيَّةُ", "עברית ", "abc ", "12.5 ", "中文", "한국어", "「引」", "(א)", " - "),
    *("👩‍👩‍👧", "👍🏽", "⚠️", "e\u0301\u0323", "ไทย ", "☂"),
)
TABLE = f"| {HEBREW} | name |\n|---|---|\n| {ARABIC} | א |\n| a | {HEBREW} |"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.integers(14, 60))
def test_a_row_is_exactly_as_wide_as_the_view_by_another_measure(text: str, width: int) -> None:
    layout = Layout(BlockStyles.bare())
    layout.width = width
    layout.extend(
        [
            UserBlock(text),
            ReplyBlock(f"> {text}\n\n- {text}\n\n```\n{text}\n```\n\n| {text} | b |\n|--|--|\n| c | {text} |"),
        ]
    )

    for row in layout.rows(START, 1_000):
        assert wcswidth(paint_line(row.line, width, Style.null()).text) == width, row.line.text


async def test_marks_and_borders_are_in_their_columns_next_to_text_that_is_read_from_the_right() -> None:
    app = Stage(UserBlock(f"{HEBREW} {ARABIC} " * 3), ReplyBlock(f"> {HEBREW}\n\n- {ARABIC}\n\n{TABLE}"))
    async with app.run_test(size=SMALL):
        await app.view.drained()
        terminal = pyte.Screen(*SMALL)
        stream = pyte.Stream(terminal)
        for y in range(SMALL[1]):
            stream.feed(f"\x1b[{y + 1};1H{app.view.render_line(y).text}")

        rows = terminal.display
        assert rows[0].startswith("❯ ")
        assert [row.index("▌") for row in rows if "▌" in row] == [0]
        assert [row.index("•") for row in rows if "•" in row] == [1]
        # pyte hands back a cell and the marks on it as one text: counted in cells, each border has the same place.
        borders = {wcswidth(row[: row.index("│")]) for row in rows if "│" in row}
        assert len(borders) == 1


@pytest.mark.parametrize("code", [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_bidirectional_control_characters_are_shown_and_not_applied(code: int) -> None:
    assert escape_controls(f"if admin:{chr(code)} pass") == f"if admin:⟨U+{code:04X}⟩ pass"
