from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fakes.transcript_stage import Stage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from textual.pilot import Pilot
from wcwidth import wcswidth

from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from cinch_tui.transcript.layout import START, Layout
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.painting import paint_line
from cinch_tui.transcript.styles import BlockStyles
from harness.views import DiffView, ImageView, ListingView, TerminalView, TextView

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Everyday text of many scripts, marks of Markdown, and what terminals measure in different ways.
ODD = (
    *("word ", "longer-than-any-column ", "中文", "「引号」", "한국어", "日本語、", "ไทยคำ", "हिन्दी"),
    *("👍", "👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "⚠️", "☂", "e\u0301\u0323", "\u200b", "\u200d", "\u00ad"),
    *("שלום", "العربية", "\u202e", "\t", "\x1b[2J", "\x07", "\r", "\u2028", "\n", "\n\n"),
    *("- ", "  - ", "1. ", "> ", "# ", "| a | b |\n|---|---|\n| c | 中 |\n", "```py\n", "    ", "**", "`", "- [x] "),
    *("[l](https://example.org)", "![i](a.png)", "~~", "---\n", "<br>", "|"),
)
texts = st.lists(st.sampled_from(ODD) | st.text(max_size=3), max_size=25).map("".join)


def tool(view: TextView | TerminalView | ListingView | DiffView | None, text: str) -> ToolBlock:
    block = ToolBlock("1", text, text)
    block.status, block.view, block.text = "failed", view, text
    block.folded = False
    return block


def lines_of(text: str, width: int) -> list[StyledLine]:
    layout = Layout(BlockStyles.bare())
    layout.width = width
    thought = ThinkingBlock(text)
    thought.folded = False
    views = (TextView(text, "python"), TerminalView(text, text, 1), ListingView("", (text,), 3), None)
    calls = [tool(view, text) for view in views]
    layout.extend([UserBlock(text), ReplyBlock(text), NoticeBlock(text), thought, *calls])
    return [row.line for row in layout.rows(START, 2_000)]


def change_lines(text: str, width: int) -> list[StyledLine]:
    layout = Layout(BlockStyles.bare())
    layout.width = width
    layout.extend([tool(DiffView("a.py", "a\n", text), text)])
    return [row.line for row in layout.rows(START, 2_000)]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts, st.integers(12, 50))
def test_no_line_is_wider_than_the_screen_nor_obeyed_by_a_terminal(text: str, width: int) -> None:
    for line in (*lines_of(text, width), *change_lines(text, width)):
        assert cell_len(line.text) <= width, line.text
        assert not CONTROLS.search(line.text), line.text
        assert paint_line(line, width, Style.null()).cell_length == width


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(("word ", "中文", "👍", "👩‍👩‍👧", "🇩🇪", "e\u0301", "שלום ", "한국어")), max_size=30),
    st.integers(12, 40),
)
def test_a_terminals_own_table_agrees(pieces: list[str], width: int) -> None:
    for line in lines_of("".join(pieces), width):
        assert wcswidth(line.text) <= width, line.text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(("👩‍👩‍👧", "🇩🇪", "e\u0301\u0323", "⚠️", "한")), min_size=1, max_size=40),
    st.integers(12, 30),
)
def test_grapheme_clusters_are_never_split(graphemes: list[str], width: int) -> None:
    block = UserBlock("".join(graphemes))
    layout = Layout(BlockStyles.bare())
    layout.width = width
    layout.extend([block])
    known = set(graphemes)

    for row in layout.rows(START, 200):
        rest = row.line.text[row.line.gutter :]
        while rest:
            found = next((each for each in known if rest.startswith(each)), None)
            assert found is not None, rest
            rest = rest.removeprefix(found)


@pytest.mark.parametrize("width", [12, 24, 60])
def test_a_table_with_too_many_columns_is_shown_row_by_row(width: int) -> None:
    table = "| name | size | kind | owner | date |\n|--|--|--|--|--|\n| a.py | 12 | text | me | today |"

    shown = [line.text for line in lines_of(table, width)]

    assert ("name: a.py" in shown) == (width < 60)
    assert all(cell_len(line) <= width for line in shown)


def test_tasks_nested_lists_and_a_wide_table(snap_compare: Callable[..., bool]) -> None:
    reply = (
        "- [x] Read the loader\n- [ ] Mend it\n  1. keep the offset\n     - of *lines*\n  2. stop early\n- plain\n\n"
        "| name | size | kind | owner | date | mode | 名前 |\n|--|--|--|--|--|--|--|\n"
        "| loader.py | 1,204 | text | me | today | rw | ローダー |"
    )
    app = Stage(ReplyBlock(reply))

    async def settled(pilot: Pilot[None]) -> None:
        await app.view.drained()
        await pilot.pause()

    assert snap_compare(app, terminal_size=(44, 22), run_before=settled)


@pytest.mark.parametrize("width", [14, 40])
def test_a_picture_is_a_frame_with_its_name_kind_and_size(width: int) -> None:
    layout = Layout(BlockStyles.bare())
    layout.width = width
    block = tool(None, "")
    block.status, block.view = "done", ImageView("shots/画面.png", "image/png", 640, 480)
    layout.extend([block])

    shown = [row.line.text.strip() for row in layout.rows(START, 20)][1:]

    assert {cell_len(line) for line in shown} == {min(width - 4, 23)}
    if width == 40:
        assert shown[1:3] == ["│ shots/画面.png      │", "│ image/png · 640×480 │"]
