from __future__ import annotations

from fakes.transcript_stage import Stage, numbered
from textual.color import Color

from cinch_tui.transcript.blocks import ReplyBlock, UserBlock

SMALL = (40, 12)


async def test_lines_are_marked_by_key_and_copied_without_gutters() -> None:
    app = Stage(UserBlock("Do it"), ReplyBlock("> one two three four five six seven eight nine\n\n- alpha\n- beta"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "v", "down", "down", "down", "y")

        assert app.heard == ["one two three four five six seven eight nine\n\nalpha"]
        assert not app.view.is_marking
        assert app.view.text_selection is None


async def test_selected_lines_stay_readable() -> None:
    app = Stage(ReplyBlock("to be read"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "v")

        painted = [segment for strip in app.screen._compositor.render_strips() for segment in strip]

    style = next(segment.style for segment in painted if segment.style and "to be read" in segment.text)
    assert style.color
    assert style.bgcolor
    letters, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    assert abs(letters.brightness - ground.brightness) > 0.3


async def test_selection_extends_upward_and_beyond_the_screen() -> None:
    app = Stage(*numbered(12))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "v", *["pageup"] * 9, "y")

        assert app.heard[-1].startswith("Reply 0\n\nsome\nthing")
        assert app.heard[-1].endswith("\n\nReply 11")


async def test_a_selection_stays_while_more_arrives() -> None:
    reply = ReplyBlock()
    app = Stage(UserBlock("Do"), reply)
    async with app.run_test(size=SMALL) as pilot:
        reply.append("First\n\nSecond\n\nThi")
        app.view.changed(reply)
        await app.view.drained()
        await pilot.press("shift+up", "v", "down", "down")
        reply.append("rd\n\n" + "more\n\n" * 30)
        app.view.changed(reply)
        await app.view.drained()
        await pilot.press("y")

        assert app.heard[-1] == "First\n\nSecond"


async def test_esc_ends_marking_and_only_then_leaves() -> None:
    app = Stage(ReplyBlock("One"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.press("shift+up", "v", "escape")

        assert (app.view.is_marking, app.heard) == (False, [])


async def test_letters_after_a_mouse_selection_are_prompt_text() -> None:
    app = Stage(ReplyBlock("alpha beta"))
    async with app.run_test(size=SMALL) as pilot:
        await app.view.drained()
        await pilot.mouse_down(app.view, offset=(1, 0))
        await pilot.hover(app.view, offset=(5, 0))
        await pilot.mouse_up(app.view, offset=(5, 0))
        await pilot.press("y")

        assert app.view.marked_text == "alpha"
        assert app.heard == [("typed", "y")]
