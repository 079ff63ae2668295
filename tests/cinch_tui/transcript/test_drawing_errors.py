from __future__ import annotations

import asyncio
import logging

import pytest
from fakes.transcript_stage import Stage, numbered, screen
from textual import _time as timer_clock

from cinch_tui.transcript.block import BlockPart, TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.styles import BlockStyles


class Faulty(BlockPart):
    @property
    def text(self) -> str:
        return "what was \x1b[31msaid"

    def draw(self, styles: BlockStyles, width: int) -> list[StyledLine]:
        raise ValueError("no such colour")

    def guess(self, width: int) -> int:
        return 1


class FaultyBlock(TranscriptBlock):
    def __init__(self, *, is_made: bool) -> None:
        super().__init__()
        self._is_made = is_made

    @property
    def source(self) -> str:
        return "what was said"

    def make_parts(self) -> list[BlockPart]:
        if not self._is_made:
            raise IndexError("no such part")
        return [Faulty()]


@pytest.mark.parametrize("is_made", [True, False])
async def test_a_block_that_fails_to_draw_is_shown_as_plain_text(
    is_made: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app = Stage(NoticeBlock("Before."), FaultyBlock(is_made=is_made), NoticeBlock("After."))

    with caplog.at_level(logging.ERROR):
        async with app.run_test(size=(90, 12)) as pilot:
            await app.view.drained()
            await pilot.resize_terminal(100, 14)
            await app.view.drained()

            shown = [line.rstrip() for line in screen(app.view)]

    assert "· Before." in shown
    assert "· After." in shown
    assert "what was said" in shown
    assert any("a bug in cinch" in line for line in shown)
    assert [record.exc_info is not None for record in caplog.records].count(True) > 0


async def test_change_is_drawn_although_the_process_is_held_up_as_its_frame_is_scheduled(
    monkeypatch: pytest.MonkeyPatch,
):
    app = Stage(*numbered(3))
    async with app.run_test(size=(60, 12)):
        await app.view.drained()
        delays = list(range(1, 20))
        read_clock = timer_clock.get_time
        monkeypatch.setattr(timer_clock, "get_time", lambda: read_clock() + (delays.pop(0) if delays else 20))

        app.view.add(ReplyBlock("The last one"))
        async with asyncio.timeout(5):
            await app.view.drained()

        assert screen(app.view)[-1] == "The last one"
