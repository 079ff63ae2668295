from __future__ import annotations

import time
from datetime import datetime

import pytest
from fakes.transcript_stage import Stage, screen

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from cinch_tui.transcript.history_blocks import blocks_of
from cinch_tui.transcript.styles import DisplayOptions
from harness.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage

SMALL = (40, 14)
LONG = "A reply that is longer than one line of this view is, by some words."


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def at(moment: str, block: TranscriptBlock) -> TranscriptBlock:
    block.time = datetime.fromisoformat(f"{moment}+00:00").timestamp()
    return block


def call() -> ToolBlock:
    block = ToolBlock("1", "Bash", "make all the things that are to be made")
    block.status = "done"
    return block


def talk() -> list[TranscriptBlock]:
    return [
        at("2026-11-21 23:58", UserBlock("Do")),
        at("2026-11-21 23:59", call()),
        at("2026-11-22 00:01", call()),
        at("2026-11-22 00:02", ReplyBlock(LONG)),
    ]


async def test_times_are_at_the_right_and_nothing_moves() -> None:
    app = Stage(*talk())
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        before = screen(app.view)

        await pilot.press("shift+up", "t")
        await app.view.drained()

        shown = screen(app.view)
        assert [row.rsplit(maxsplit=1)[-1] for row in shown if ":" in row] == ["23:58", "23:59", "00:01", "00:02"]
        assert [row.split()[-2] for row in shown if "2026" in row] == ["2026-11-21"]
        assert ["Do" in row for row in shown] == ["Do" in row for row in before]
        assert ["A reply" in row for row in shown] == ["A reply" in row for row in before]

        await pilot.press("t")
        await app.view.drained()

        assert screen(app.view) == before


async def test_no_line_is_wider_than_the_view_with_its_time() -> None:
    app = Stage(*talk(), at("2026-11-22 00:03", UserBlock("中" * 60)))
    async with app.run_test(size=(24, 20)):
        app.view.options = DisplayOptions(stamps=True)
        await app.view.drained()

        assert {app.view.render_line(y).cell_length for y in range(20)} == {app.view.size.width}


def test_a_resumed_conversation_knows_its_times() -> None:
    messages = [
        UserMessage((Text("Do"),), time=100.0),
        AssistantMessage((Text("Yes"), ToolCall("1", "bash", {})), time=200.0),
        ToolResult("1", "bash", (Text("ok"),), time=300.0),
    ]

    assert [block.time for block in blocks_of(messages, ())] == [100.0, 200.0, 200.0]


def test_thinking_is_folded_with_its_duration() -> None:
    block = ThinkingBlock()
    block.append("Hm")
    block.finish()

    assert block.folded
    assert block.headline == "▸ Thought for 1s"


@pytest.mark.parametrize(("stamps", "ends"), [(False, "PLAN"), (True, "PLAN  00:02")])
async def test_a_label_is_above_a_reply_and_before_its_time(stamps: bool, ends: str) -> None:
    *others, reply = talk()
    reply.tag = "PLAN"
    app = Stage(*others, reply)
    app.view.options = DisplayOptions(stamps=stamps)
    async with app.run_test(size=SMALL):
        await app.view.drained()

        shown = screen(app.view)

    above = next(number for number, row in enumerate(shown) if "A reply" in row) - 1
    assert [row.strip() for row in shown if "PLAN" in row] == [shown[above].strip()] == [ends]
