from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest
from fakes.search_stage import SearchStage, looked, marked, search
from fakes.transcript_stage import drawn_parts, numbered, screen
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from cinch_tui.transcript.block import TranscriptBlock
from cinch_tui.transcript.blocks import NoticeBlock, ReplyBlock, ThinkingBlock, ToolBlock, UserBlock
from cinch_tui.transcript.search import SearchQuery
from cinch_tui.widgets.search_bar import LONGEST
from harness.views import DiffView, ListingView, TerminalView, TextView, TodoItem, TodoView, View

SMALL = (60, 12)


def call(summary: str, view: View | None, text: str = "") -> ToolBlock:
    block = ToolBlock(summary, "Tool", summary)
    block.status, block.view, block.text = "done", view, text
    return block


async def test_the_nearest_match_above_is_shown_and_all_visible_ones_are_highlighted() -> None:
    app = SearchStage(*numbered(30), UserBlock("one needle, two needles"), *numbered(30))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")

        assert app.said == "2 of 2"
        assert marked(app.view) == ["needle", ">needle"]

        await pilot.press("up")
        await looked(pilot, app)

        assert app.said == "1 of 2"
        assert marked(app.view) == [">needle", "needle"]

        await pilot.press("enter")
        await looked(pilot, app)

        assert app.said == "2 of 2"


async def test_escape_goes_back_to_where_one_was_and_tab_stays() -> None:
    app = SearchStage(UserBlock("needle"), *numbered(60))
    async with app.run_test(size=SMALL) as pilot:
        app.view.action_page_up()
        await app.view.drained()
        before = screen(app.view)
        await search(pilot, app, "needle")
        assert "❯ needle" in screen(app.view)

        await pilot.press("escape")
        await looked(pilot, app)

        assert screen(app.view) == before
        assert not app.bar.is_open

        await search(pilot, app, "needle")
        await pilot.press("tab")
        await looked(pilot, app)

        assert "❯ needle" in screen(app.view)
        assert marked(app.view) == ["❯ needle"]


async def test_ending_a_search_selects_the_block_without_scrolling() -> None:
    long = call("cat long", TerminalView("cat long", "\n".join(f"line {number}" for number in range(80)) + "\nneedle"))
    app = SearchStage(*numbered(5), long, *numbered(30))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")
        found = screen(app.view)
        await pilot.press("tab")
        await looked(pilot, app)
        await pilot.press("y")
        await looked(pilot, app)

        assert screen(app.view)[: len(found)] == found
        assert app.view.blocks[5].selected
        assert any(str(each).endswith("needle") for each in app.heard)


async def test_lines_are_marked_from_where_a_search_ended_and_not_from_the_top_of_a_long_block() -> None:
    reply = ReplyBlock("\n\n".join(f"Thought {number}" for number in range(60)))
    app = SearchStage(*numbered(5), reply, *numbered(30))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "thought 41")
        await pilot.press("tab")
        await looked(pilot, app)
        await pilot.press("v", "down", "down", "y")
        await looked(pilot, app)

        assert app.heard[-1] == "Thought 41\n\nThought 42"


async def test_search_without_match_is_reported_and_does_not_scroll() -> None:
    app = SearchStage(UserBlock("needle"), *numbered(60))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        before = screen(app.view)[2:-2]

        await search(pilot, app, "needles")

        assert app.said == "no matches"
        assert before[-1] in screen(app.view)


async def test_long_pasted_search_text_is_truncated() -> None:
    words = "word " * (LONGEST // 5)
    app = SearchStage(UserBlock(words))
    async with app.run_test(size=SMALL) as pilot:
        app.bar.open()
        await pilot.pause()
        app.post_message(Paste(f"{words}and much more {'of it ' * 3000}"))
        await pilot.pause()
        await looked(pilot, app)

        assert app.query_one(Input).value == words
        assert app.said == "1 of 1"


async def test_a_folded_block_opens_for_the_match_one_is_at_and_closes_behind() -> None:
    tool = call("make", TerminalView("make", "a needle in it\n", 0))
    thought = ThinkingBlock("I think of a needle.")
    thought.finish()
    app = SearchStage(UserBlock("needle"), thought, tool)
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")

        assert "    a needle in it" in screen(app.view)
        assert thought.folded

        await pilot.press("up")
        await looked(pilot, app)

        assert tool.folded
        assert "│ I think of a needle." in screen(app.view)

        await pilot.press("escape")
        await looked(pilot, app)

        assert tool.folded
        assert thought.folded


async def test_a_match_in_the_line_of_a_folded_call_does_not_open_it() -> None:
    tool = call("look for needle", TextView("nothing"))
    app = SearchStage(tool)
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")

        assert tool.folded
        assert marked(app.view) == [">needle"]


@pytest.mark.parametrize(
    "block",
    [
        call("a", TextView("x\nneedle\n")),
        call("a", ListingView("", ("b.py", "needle.py"), 2)),
        call("a", DiffView("a.py", "a\nold\n", "a\nneedle\n")),
        call("a", TodoView((TodoItem("a needle", "pending"),))),
        call("a", None, "two\nlines with a needle"),
        call("a", TerminalView("make", "first\n" * 500 + "needle\n", 0)),
        NoticeBlock("No needle there", "warning"),
        ReplyBlock("| a | b |\n|---|---|\n| x | needle |"),
        ReplyBlock("```\nif needle:\n```"),
    ],
    ids=lambda block: type(getattr(block, "view", block)).__name__,
)
async def test_every_kind_of_block_is_searched(block: TranscriptBlock) -> None:
    app = SearchStage(*numbered(2), block, *numbered(9))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")

        assert app.said == "1 of 1"
        assert marked(app.view) == [">needle"]


async def test_words_are_found_across_wraps_emphasis_and_line_ends() -> None:
    app = SearchStage(ReplyBlock("x " * 25 + "the **whole\ntruth** of it, and the *whole truth* again"))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "whole truth")

        assert app.said == "2 of 2"
        assert "".join(marked(app.view)).replace(" ", "") == "wholetruth>wholetruth"


async def test_only_visible_blocks_of_ten_thousand_are_drawn() -> None:
    app = SearchStage(UserBlock("the needle"), *numbered(10_000))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")

        assert app.said == "1 of 1"
        assert drawn_parts(app.view) < 90


async def test_text_that_arrives_during_a_search_is_searched_too() -> None:
    reply = ReplyBlock()
    app = SearchStage(UserBlock("needle"), reply)
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")
        assert app.said == "1 of 1"

        for fragment in ("a nee", "dle and ", "another needle"):
            reply.append(fragment)
            app.view.changed(reply)
        app.view.add(UserBlock("needle"))
        await looked(pilot, app)

        assert app.said == "1 of 4"
        assert marked(app.view) == [">needle", "needle", "needle", "needle"]

        app.view.drop(reply)
        await pilot.press("down")
        await looked(pilot, app)

        assert app.said == "2 of 2"


async def test_a_search_survives_a_cleared_conversation_and_a_resize() -> None:
    app = SearchStage(UserBlock("needle"), *numbered(9))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")
        await pilot.resize_terminal(30, 8)
        await looked(pilot, app)

        assert marked(app.view) == [">needle"]

        app.view.clear()
        app.view.add(UserBlock("needle needle"))
        await looked(pilot, app)
        await pilot.press("up", "escape")
        await looked(pilot, app)

        assert screen(app.view)[0] == "❯ needle needle"


async def test_no_search_keeps_a_conversation_that_was_cleared() -> None:
    app = SearchStage(*numbered(30), UserBlock("a needle"))
    async with app.run_test(size=SMALL) as pilot:
        await search(pilot, app, "needle")
        gone = weakref.ref(app.view.blocks[-1])

        app.view.clear()
        app.view.extend(numbered(3))
        await looked(pilot, app)

        gc.collect()
        assert gone() is None


@pytest.mark.parametrize(
    ("query", "text", "count"),
    [
        ("needle", "Needle NEEDLE needle", 3),
        ("Needle", "Needle NEEDLE needle", 1),
        ("a.b(", "a.b( axb(", 1),
        ("two words", "two  words, two\nwords, two\n> words", 3),
        ("two words", "two\n\nwords", 0),
        ("中文", "这是中文字", 1),
    ],
)
def test_capitals_count_once_one_is_typed_and_nothing_is_a_pattern(query: str, text: str, count: int) -> None:
    needle = SearchQuery.of(query)

    assert needle is not None
    assert needle.count(text) == count


def test_blanks_are_nothing_to_search_for() -> None:
    assert SearchQuery.of("  ") is None


def test_a_search(snap_compare: Callable[..., bool]) -> None:
    blocks = [
        UserBlock("Where is the discount taken off?"),
        call("discount", ListingView("2 matches", ("till/receipt.py:3:discount", "till/sale.py:9:discount"), 2)),
        ReplyBlock("In `total`: the **discount** is given in percent.\n\n- Discount first\n- then tax"),
    ]
    app = SearchStage(*blocks)

    async def typed(pilot: Pilot[None]) -> None:
        await search(pilot, app, "discount")
        await pilot.press("up", "up", "up")
        await looked(pilot, app)

    assert snap_compare(app, terminal_size=(80, 20), run_before=typed)
