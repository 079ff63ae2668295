from __future__ import annotations

from fakes.transcript_stage import Stage, numbered, screen

from cinch_tui.transcript.blocks import ReplyBlock, UserBlock
from cinch_tui.transcript.row_decorations import CARET

SMALL = (40, 12)


async def test_cursor_follows_the_text_while_it_streams_and_goes_at_its_end():
    reply = ReplyBlock()
    app = Stage(UserBlock("Do"), reply)
    async with app.run_test(size=SMALL):
        seen: list[list[str]] = []
        for text in ("Half a", " sentence", " and more.\n\nNext"):
            reply.append(text)
            app.view.changed(reply)
            await app.view.drained()
            seen.append([row.strip() for row in screen(app.view) if CARET in row])
        reply.finish()
        app.view.changed(reply)
        await app.view.drained()

        assert seen == [[f"Half a{CARET}"], [f"Half a sentence{CARET}"], [f"Next{CARET}"]]
        assert not any(CARET in row for row in screen(app.view))


async def test_cursor_is_not_copied_and_not_part_of_the_source():
    reply = ReplyBlock()
    app = Stage(reply)
    async with app.run_test(size=SMALL) as pilot:
        reply.append("Half a")
        app.view.changed(reply)
        await app.view.drained()
        await pilot.press("shift+up", "y", "v", "y")

        assert any(CARET in row for row in screen(app.view))
        assert app.heard == ["Half a", "Half a"]


async def test_a_reader_further_up_sees_no_cursor():
    reply = ReplyBlock()
    app = Stage(*numbered(5), reply)
    async with app.run_test(size=SMALL):
        reply.append("line\n\n" * 40 + "the end")
        app.view.changed(reply)
        await app.view.drained()
        app.view.action_page_up()
        await app.view.drained()

        assert any("line" in row for row in screen(app.view))
        assert not any(CARET in row for row in screen(app.view))
