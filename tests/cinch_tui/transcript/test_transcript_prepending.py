from __future__ import annotations

import pytest
from fakes.transcript_stage import Stage, drawn_parts, numbered, screen

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, UserBlock
from cinch_tui.transcript.layout import START, Layout
from cinch_tui.transcript.replies import ReplyBlock, ThinkingBlock
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.transcript.tool_block import ToolBlock

SMALL = (60, 12)


async def test_older_blocks_come_in_above_and_the_end_stays_in_view() -> None:
    older, shown = numbered(500)[:495], numbered(500)[495:]
    app = Stage(*shown)
    async with app.run_test(size=SMALL):
        await app.view.drained()

        app.view.prepend(older)
        await app.view.drained()

        assert screen(app.view)[-1] == "The end of 499."
        assert drawn_parts(app.view) < 60
        app.view.action_scroll_home()
        await app.view.drained()
        assert screen(app.view)[0] == "Reply 0"


async def test_view_does_not_move_while_older_blocks_are_prepended() -> None:
    older, shown = numbered(500)[:490], numbered(500)[490:]
    app = Stage(*shown)
    async with app.run_test(size=SMALL):
        await app.view.drained()
        app.view.action_page_up()
        await app.view.drained()
        before = screen(app.view)

        app.view.prepend(older)
        await app.view.drained()

        assert screen(app.view) == before
        app.view.action_page_up()
        await app.view.drained()
        assert screen(app.view)[-1] == before[0]


async def test_the_very_first_line_stays_in_view_too() -> None:
    app = Stage(*numbered(20))
    async with app.run_test(size=SMALL):
        app.view.action_scroll_home()
        await app.view.drained()
        before = screen(app.view)

        app.view.prepend(numbered(3))
        await app.view.drained()

        assert screen(app.view) == before


def mixed_blocks() -> list[TranscriptBlock]:
    """Return blocks that are grouped with their neighbors or not, some of them hidden."""
    blocks: list[TranscriptBlock] = []
    for number in range(30):
        blocks += [UserBlock(f"prompt {number}"), ToolBlock("a", "Read", "a.py"), ToolBlock("b", "Read", "b.py")]
        thinking = ThinkingBlock("thought")
        thinking.hidden = number % 2 == 0
        blocks += [thinking, NoticeBlock("one"), NoticeBlock("two"), ReplyBlock("# Reply\n\ndone")]
    return blocks


def laid_out(size: int) -> list[tuple[int, bool, int]]:
    """Return index, gap and height of all blocks, inserted from the end in parts of `size`."""
    blocks, layout = mixed_blocks(), Layout(BlockStyles.bare())
    for end in range(len(blocks), 0, -size):
        layout.prepend(blocks[max(0, end - size) : end], START)
    assert layout.blocks == blocks
    return [(block.index, block.gap, layout.heights[block.index]) for block in blocks]


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_blocks_inserted_in_parts_have_the_same_gaps_and_heights_as_at_once(size: int) -> None:
    assert laid_out(size) == laid_out(1_000)
