from __future__ import annotations

import pytest
from fakes.transcript_stage import Stage, numbered, screen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import SELECT_ALL, Selection

from cinch_tui.transcript.blocks import ReplyBlock, ToolBlock, UserBlock
from cinch_tui.transcript.layout import Layout
from cinch_tui.transcript.styles import BlockStyles
from harness.views import TerminalView

SMALL = (40, 12)


async def drag(pilot: Pilot[None], app: Stage, start: tuple[int, int], end: tuple[int, int]) -> str | None:
    await pilot.mouse_down(app.view, offset=start)
    await pilot.hover(app.view, offset=end)
    await pilot.mouse_up(app.view, offset=end)
    await pilot.pause()
    return app.screen.get_selected_text()


async def test_a_selection_joins_what_was_wrapped_and_leaves_gutters_out() -> None:
    app = Stage(UserBlock("one two three four five six seven eight nine ten"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert await drag(pilot, app, (1, 0), (12, 1)) == "one two three four five six seven eight nine"


async def test_a_selection_can_start_and_end_within_lines() -> None:
    app = Stage(ReplyBlock("- alpha\n- beta\n- gamma"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert await drag(pilot, app, (6, 0), (6, 2)) == "pha\nbeta\ngam"


async def test_table_rows_are_copied_verbatim_without_trailing_blanks() -> None:
    app = Stage(ReplyBlock("| 名前 | n |\n|---|---|\n| 苹果 | a word or two |\n| x | y |\n\nend"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert (
            await drag(pilot, app, (0, 0), (3, 5))
            == "名前 │ n\n─────┼──────────────\n苹果 │ a word or two\nx    │ y\n\nend"
        )


async def test_whole_blocks_in_a_selection_give_their_source() -> None:
    app = Stage(UserBlock("First"), ReplyBlock("Some **bold** words"), UserBlock("Last"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert await drag(pilot, app, (3, 0), (5, 4)) == "First\n\nSome **bold** words\n\nLas"


async def test_lines_that_look_alike_are_distinguished_after_the_view_has_moved() -> None:
    reply = ReplyBlock()
    reply.append("```\n" + "    same\n" * 30)
    app = Stage(reply)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        reply.append("    same\n" * 5 + "last\n```\n")
        reply.finish()
        app.view.changed(reply)
        await app.view.drained()

        assert await drag(pilot, app, (2, 9), (20, 11)) == "    same\n    same\nlast"


async def test_a_wide_character_is_selected_whole() -> None:
    app = Stage(ReplyBlock("中文字符 text"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()

        assert await drag(pilot, app, (3, 0), (5, 0)) == "文字"


async def test_a_selection_stays_with_its_text_when_more_arrives() -> None:
    reply = ReplyBlock()
    app = Stage(*numbered(3), reply)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        row = screen(app.view).index("Reply 2")
        assert await drag(pilot, app, (1, row), (7, row)) == "Reply 2"

        reply.append("more\n\n" * 20)
        app.view.changed(reply)
        await app.view.drained()

        assert app.screen.get_selected_text() == "Reply 2"


async def test_a_drag_over_a_folded_call_does_not_unfold_it() -> None:
    call = ToolBlock("1", "Bash", "make")
    call.status = "done"
    call.view = TerminalView("make", "a\nb\n", 0)
    app = Stage(call)
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await drag(pilot, app, (4, 0), (12, 0))
        await app.view.drained()

        assert call.folded


def laid_out() -> Layout:
    layout = Layout(BlockStyles.bare())
    layout.extend([UserBlock("ask"), *numbered(2), UserBlock("")])
    return layout


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(-1, 1 << 45), st.integers(0, 90), st.integers(-1, 1 << 45), st.integers(0, 90))
def test_no_selection_whatever_its_ends_raises(y1: int, x1: int, y2: int, x2: int) -> None:
    selection = Selection.from_offsets(Offset(x1, max(0, y1)), Offset(x2, max(0, y2)))

    for chosen in (selection, Selection(selection.start, None), Selection(None, selection.end), SELECT_ALL):
        assert isinstance(laid_out().selected_text(chosen), str)


@pytest.mark.parametrize("count", [0, 3])
async def test_all_can_be_copied(count: int) -> None:
    app = Stage(*numbered(count))
    async with app.run_test(size=SMALL):
        app.view.text_select_all()

        assert (app.screen.get_selected_text() or "").count("Reply") == count
