from __future__ import annotations

from collections.abc import Callable

import pytest
from fakes.chat_stage import chat_stage
from fakes.cited_chat_tapes import NASA, SKY, TEXT
from fakes.transcript_stage import Stage, screen
from textual.pilot import Pilot
from textual.selection import SELECT_ALL

from cinch_tui.reports.citations import Source
from cinch_tui.reports.summaries import TranscriptPart, source
from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import ReplyBlock, SourcesBlock, UserBlock
from cinch_tui.transcript.history_blocks import blocks_of
from harness.deltas import BlockDelta, BlockEnd, BlockStart
from harness.events import MessageDiscarded, MessageEnd, MessageStart, MessageUpdate
from harness.messages import AssistantMessage, Citation, Text, ToolCall, user

SMALL = (40, 14)
PAGES = (Citation(SKY, "Sky"), Citation(NASA, "Why is the sky blue?"))
SAID = AssistantMessage((Text(TEXT, None, PAGES), ToolCall("a", "look", {})))


def many(count: int) -> SourcesBlock:
    return SourcesBlock([Source(n, f"https://site{n}.example/page", f"Title {n}") for n in range(1, count + 1)])


async def settled(pilot: Pilot[None]) -> None:
    assert isinstance(pilot.app, Stage)
    await pilot.app.view.drained()
    await pilot.pause()


def test_sources_below_a_reply(snap_compare: Callable[..., bool]) -> None:
    few = SourcesBlock(
        [
            Source(1, SKY, "Sky - Wikipedia"),
            Source(2, NASA),
            Source(3, "", "notes-on-light.pdf"),
            Source(4, "https://journal.example/a", "Rayleigh scattering of light by small particles in the air " * 2),
            Source(10, "https://evil.example/\x1b]8;;x", "Red \x1b[31mtitle\u202e"),
        ]
    )
    blocks = [UserBlock("Why is the sky blue?"), ReplyBlock("Air scatters blue light most[1][2].")]
    stage = Stage(*blocks, few, UserBlock("And more?"), ReplyBlock("Much more."), many(9))
    assert snap_compare(stage, terminal_size=(80, 26), run_before=settled)


async def test_many_are_folded_until_opened() -> None:
    app = Stage(many(7))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        folded = screen(app.view)[:8]

        await pilot.click(app.view, offset=(2, 6))
        await app.view.drained()

        assert folded[0] == "▸ Sources"
        assert folded[5:] == ["  5 Title 5 – site5.example", "  … 2 more", ""]
        assert screen(app.view)[0] == "▾ Sources"
        assert screen(app.view)[6:8] == ["  6 Title 6 – site6.example", "  7 Title 7 – site7.example"]


async def test_a_click_on_a_title_opens_its_page() -> None:
    app = Stage(many(7))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        await pilot.click(app.view, offset=(6, 2))
        await pilot.pause()

        assert app.heard == ["https://site2.example/page"]


async def test_only_web_addresses_are_links() -> None:
    app = Stage(SourcesBlock([Source(1, "javascript:alert(1)", "Run me"), Source(2, "https://a.example/\x1b[2J", "B")]))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        for row in (1, 2):
            await pilot.click(app.view, offset=(6, row))
        await pilot.pause()

        assert app.heard == []
        assert not any("\x1b" in line for line in screen(app.view))


async def test_a_selection_is_copied_with_link_addresses() -> None:
    app = Stage(ReplyBlock(TEXT), many(2))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.mouse_down(app.view, offset=(1, 3))
        await pilot.hover(app.view, offset=(3, 4))
        await pilot.mouse_up(app.view, offset=(3, 4))
        await pilot.pause()

        assert app.screen.get_selected_text() == "1 Title 1 – site1.example https://site1.example/page\n2"

        app.screen.selections = {app.view: SELECT_ALL}
        await pilot.pause()

        assert app.screen.get_selected_text() == (
            f"{TEXT}\n\nSources:\n[1] Title 1 – https://site1.example/page\n[2] Title 2 – https://site2.example/page"
        )


@pytest.mark.parametrize("part", ["reply", "all"])
def test_copying_a_reply_takes_its_sources_along(part: TranscriptPart) -> None:
    assert source([user("Why?"), SAID], part).endswith(
        f"{TEXT}\n\nSources:\n[1] Sky – {SKY}\n[2] Why is the sky blue? – {NASA}"
    )


def test_a_resumed_session_shows_them_where_the_run_did() -> None:
    kinds = [type(block).__name__ for block in blocks_of([user("Why?"), SAID], [])]

    assert kinds == ["UserBlock", "ReplyBlock", "SourcesBlock", "StoredToolBlock"]


async def test_sources_follow_a_reply_that_was_streamed_and_no_discarded_one() -> None:
    app, widgets, bridge = chat_stage()
    streamed = [BlockStart(0, "text"), BlockDelta(0, TEXT), BlockEnd(0, citations=PAGES)]
    async with app.run_test():
        for event in (
            MessageStart(message_id="m", role="assistant"),
            *(MessageUpdate(message_id="m", delta=delta) for delta in streamed),
            MessageDiscarded(message_id="m", reason="again"),
            MessageStart(message_id="m", role="assistant"),
            *(MessageUpdate(message_id="m", delta=delta) for delta in streamed),
            MessageEnd(message=SAID),
        ):
            bridge.receive(event)

        shown: list[TranscriptBlock] = [*widgets.transcript.blocks]
        assert [type(block) for block in shown] == [ReplyBlock, SourcesBlock]
        assert isinstance(shown[1], SourcesBlock)
        assert [each.number for each in shown[1].sources] == [1, 2]
