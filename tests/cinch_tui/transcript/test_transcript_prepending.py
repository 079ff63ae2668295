from __future__ import annotations

from fakes.transcript_stage import Stage, drawn_parts, numbered, screen

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


async def test_what_is_read_stays_while_older_blocks_come_in_above() -> None:
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
