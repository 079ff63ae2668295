from __future__ import annotations

from fakes.transcript_stage import Stage, numbered

from cinch_tui.transcript.tool_block import ToolBlock
from cinch_tui.transcript.tool_call_state import ToolStatus
from harness.views import TerminalView

SMALL = (60, 12)


def bash(status: ToolStatus = "done") -> ToolBlock:
    block = ToolBlock("1", "Bash", "seq 40")
    block.status = status
    block.view = TerminalView("seq 40", "".join(f"{number}\n" for number in range(40)))
    return block


async def test_opening_a_block_reports_no_new_lines() -> None:
    call = bash()
    app = Stage(*numbered(5), call, *numbered(5))
    async with app.run_test(size=SMALL) as pilot:
        app.view.action_scroll_home()
        await app.view.drained()
        await pilot.press("f2")
        await app.view.drained()

        assert not call.folded
        assert not any(app.heard)


async def test_selecting_blocks_reports_no_new_lines() -> None:
    app = Stage(*numbered(30), *(bash() for _ in range(10)), *numbered(30))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press(*["shift+up"] * 40, "escape", *["shift+left"] * 5, "shift+right")
        await app.view.drained()

        assert not any(isinstance(each, int) and each for each in app.heard)


async def test_new_lines_are_at_most_the_lines_below() -> None:
    app = Stage(*numbered(5))
    call = bash("running")
    async with app.run_test(size=SMALL):
        app.view.action_scroll_up()
        await app.view.drained()
        app.view.add_fresh(call)
        await app.view.drained()
        reported = app.heard[-1]
        call.folded = True
        app.view.changed(call)
        await app.view.drained()

        assert isinstance(reported, int)
        assert isinstance(app.heard[-1], int)
        assert 0 < app.heard[-1] < reported
        assert app.heard[-1] <= app.view.max_scroll_y - app.view.scroll_y
