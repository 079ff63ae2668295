from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes.transcript_stage import Stage, screen
from msgspec.structs import replace
from textual.pilot import Pilot

from cinch_tui.controller.parallel_run import VariantView
from cinch_tui.transcript.variant_block import VariantBlock
from cinch_tui.transcript.view import Transcript
from cinch_tui.widgets.chat_widgets import ChatWidgets
from cinch_tui.widgets.status_bar import StatusBar
from harness.deltas import BlockDelta, BlockKind, BlockStart
from harness.events import (
    AgentEnd,
    BranchEvent,
    Event,
    MessageDiscarded,
    MessageStart,
    MessageUpdate,
    ParallelEnd,
    ParallelStart,
    RetryScheduled,
    ToolExecutionStart,
)
from harness.messages import Cost, ToolCall, Usage

WRITTEN = "▾ ◆ demo/a  10 tokens"


def answered(name: str = "demo/a", text: str = "First.\n\nSecond.") -> VariantBlock:
    block = VariantBlock(name)
    block.append(text)
    block.finish()
    block.label("done", "10 tokens")
    return block


def said(*texts: str, kind: BlockKind = "text") -> list[Event]:
    start = MessageUpdate(message_id="m", delta=BlockStart(0, kind))
    return [start, *(MessageUpdate(message_id="m", delta=BlockDelta(0, text)) for text in texts)]


BEGUN = MessageStart(message_id="m", role="assistant")


def view_of(*events: Event) -> tuple[ChatWidgets, list[VariantBlock]]:
    """What the view makes of a run that does this, beside one that does nothing."""
    widgets = ChatWidgets.above(StatusBar())
    view = VariantView(widgets, ["demo/a", "demo/b"])
    view.receive(ParallelStart(run_ids=("s.a.1", "s.b.1")))
    for event in events:
        view.receive(event if isinstance(event, ParallelEnd) else BranchEvent(event=in_loop(event)))
    return widgets, [block for block in widgets.transcript.blocks if isinstance(block, VariantBlock)]


def in_loop(event: Event, run_id: str = "s.a.1") -> Event:
    return replace(event, run_id=run_id)


async def settled(pilot: Pilot[None]) -> None:
    assert isinstance(pilot.app, Stage)
    await pilot.app.view.drained()
    await pilot.pause()


async def lines_of(*blocks: VariantBlock, act: Callable[[Transcript], None] | None = None) -> list[str]:
    app = Stage(*blocks)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        await app.view.drained()
        if act:
            act(app.view)
            await app.view.drained()
        return [line.strip() for line in screen(app.view) if line.strip()]


async def test_an_answer_is_right_below_the_name_of_its_model():
    assert await lines_of(answered()) == [WRITTEN, "First.", "Second."]


async def test_it_looks_the_same_whether_it_grew_or_was_there():
    block = VariantBlock("demo/a")

    def grow(view: Transcript) -> None:
        for fragment in ("Fir", "st.\n", "\nSec", "ond."):
            block.append(fragment)
            view._absorb(float("inf"))
            view.changed(block)
        block.finish()
        block.label("done", "10 tokens")
        view.changed(block)

    grown = await lines_of(block, act=grow)

    assert grown == await lines_of(answered())


async def test_folded_it_is_its_name():
    block = answered()
    block.folded = True

    assert await lines_of(block, answered("demo/b")) == [
        "▸ ◆ demo/a  10 tokens",
        "▾ ◆ demo/b  10 tokens",
        "First.",
        "Second.",
    ]


async def test_it_is_folded_and_opened_by_a_key():
    folded = await lines_of(answered(), act=lambda view: view.action_fold())

    assert folded == ["▸ ◆ demo/a  10 tokens"]


async def test_a_name_is_one_line_however_long():
    shown = await lines_of(answered(name="provider/" + "long" * 30, text="So."))

    assert len(shown) == 2


def test_text_before_a_retry_is_replaced():
    failed = [
        MessageDiscarded(message_id="m", reason="cut"),
        RetryScheduled(attempt=1, max_retries=3, delay=0, error="x"),
    ]

    _, (block, other) = view_of(BEGUN, *said("First."), BEGUN, *said("Sec", "half"), *failed)
    noted = block.note
    _, (again, _) = view_of(BEGUN, *said("First."), BEGUN, *said("Sec"), *failed, BEGUN, *said("Second."))

    assert (block.source, noted) == ("First.", "retry 1/3")
    assert again.source == "First.\n\nSecond."
    assert (other.source, other.state) == ("", "running")


def test_its_tool_calls_are_shown_and_its_thinking_is_not():
    call = ToolExecutionStart(call=ToolCall("1", "grep", {}), label="Search", summary="a `b`\nc")

    _, (block, _) = view_of(BEGUN, *said("hm", kind="thinking"), *said("Let me see."), call)

    assert block.source == "Let me see.\n\n▸ Search `a 'b' c`\n\n"
    assert block.note == "Search"


def test_its_end_shows_what_it_used():
    usage = Usage(input=1_000, output=200, cost=Cost(input=0.5))

    _, (block, _) = view_of(BEGUN, *said("So."), AgentEnd(stop_reason="stop", usage=usage))

    assert (block.state, block.note) == ("done", "1,200 tokens · $0.5000")


@pytest.mark.parametrize(
    ("stop_reason", "note"), [("error", "failed"), ("aborted", "stopped")], ids=["failed", "stopped"]
)
def test_why_it_failed_can_be_read_whole(stop_reason, note: str):
    _, (block, _) = view_of(BEGUN, *said("So far."), AgentEnd(stop_reason=stop_reason, error="A long reason."))

    assert (block.state, block.note, block.source) == ("failed", note, "So far.\n\nA long reason.")


def test_all_are_folded_once_one_is_chosen():
    end = ParallelEnd(selected_run_id="s.a.1", selected_index=0)

    _, blocks = view_of(BEGUN, *said("So."), AgentEnd(stop_reason="stop"), end)

    assert [(block.state, block.folded) for block in blocks] == [("chosen", True), ("failed", True)]


def test_all_stay_open_when_none_is_chosen():
    _, blocks = view_of(BEGUN, *said("So."), ParallelEnd(selected_run_id="", selected_index=-1))

    assert [(block.state, block.note, block.folded) for block in blocks] == [("failed", "stopped", False)] * 2


def test_events_of_others_change_nothing():
    widgets = ChatWidgets.above(StatusBar())
    view = VariantView(widgets, ["demo/a"])

    view.receive(BranchEvent(event=in_loop(BEGUN, "s.x.1")))
    view.receive(BEGUN)

    assert list(widgets.transcript.blocks) == []


def test_answers_side_by_side(snap_compare: Callable[..., bool]) -> None:
    running, failed, chosen, left = (VariantBlock(f"provider/model-{name}") for name in "abcd")
    running.append("Let me see.\n\n▸ Read file `src/load.py`\n\n")
    running.label("running", "Read file")
    for block, text in ((failed, "The key was refused."), (chosen, "Read it **once**."), (left, "It is the disk.")):
        block.append(text)
        block.finish()
    failed.label("failed", "failed")
    chosen.label("chosen", "1,204 tokens · $0.0112")
    left.label("left", "880 tokens")
    left.folded = True

    assert snap_compare(Stage(running, failed, chosen, left), terminal_size=(60, 16), run_before=settled)
