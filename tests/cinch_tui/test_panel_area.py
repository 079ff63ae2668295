from __future__ import annotations

import pytest
from fakes.widget_app import WidgetApp
from textual.pilot import Pilot

from cinch_tui.transcript.replies import ReplyBlock
from cinch_tui.transcript.view import Transcript
from cinch_tui.widgets.chat_widgets import TranscriptArea
from cinch_tui.widgets.item_list import ItemRow
from cinch_tui.widgets.panel_area import PanelArea

STYLES = ("transcript", "code", "panel")
ROWS = [
    ItemRow("● job-3 npm run dev · ready in 312 ms", "01:12", key="job-3"),
    ItemRow("✗ job-2 pytest -q · 1 failed, 311 passed in 14.1s", "exit 1 00:14", key="job-2"),
    ItemRow("✓ job-1 make", "exit 0 00:03", key="job-1"),
]

MANY = [ItemRow(f"line {number}", "", key=str(number)) for number in range(9)]


class Listening(WidgetApp):
    AUTO_FOCUS = ""

    def __init__(self, *widgets: PanelArea) -> None:
        super().__init__(*widgets, styles=STYLES)
        self.reported: list[tuple[str, str]] = []

    def on_panel_area_action_requested(self, message: PanelArea.ActionRequested) -> None:
        self.reported.append((message.action, message.key))


async def test_action_on_a_row_is_reported_with_the_key_of_the_row():
    area = PanelArea()
    app = Listening(area)
    async with app.run_test(size=(80, 24)) as pilot:
        area.fill(ROWS, "", follow=False)
        area.focus()
        await pilot.press("down", "enter", "end", "x", "right", "q")

        assert app.reported == [("open", "job-2"), ("stop", "job-1"), ("next", "job-1"), ("close", "job-1")]


async def test_the_frame_shows_the_active_keys():
    area = PanelArea()
    app = Listening(area)
    async with app.run_test(size=(80, 24)) as pilot:
        area.set_titles(["Jobs"], 0, "Enter output")
        outside = area.border_subtitle
        area.focus()
        await pilot.pause()

        assert "F9 enters" in outside
        assert area.border_subtitle.startswith("Enter output")


async def test_nothing_is_done_to_lines_where_there_are_none():
    area = PanelArea()
    app = Listening(area)
    async with app.run_test(size=(80, 24)) as pilot:
        area.fill([], "No jobs.", follow=False)
        area.focus()
        await pilot.press("enter", "x", "l")

        assert app.reported == [("turn", "")]
        assert area.render_line(0).text.startswith("No jobs.")


async def test_the_cursor_stays_on_its_line_when_another_comes_above_it():
    area = PanelArea()
    app = Listening(area)
    async with app.run_test(size=(80, 24)) as pilot:
        area.fill(ROWS[1:], "", follow=False)
        area.focus()
        area.fill(ROWS, "", follow=False)
        await pilot.press("x")

        assert app.reported == [("stop", "job-2")]


async def test_the_view_follows_the_end_unless_scrolled_up():
    area = PanelArea()
    app = Listening(area)
    async with app.run_test(size=(80, 24)) as pilot:
        area.fill(MANY[:3], "", follow=True)
        area.fill(MANY[:6], "", follow=True)
        followed = area.cursor
        area.focus()
        await pilot.press("up")
        area.fill(MANY, "", follow=True)

        assert (followed, area.cursor) == (5, 4)


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_panel_picture(snap_compare, theme: str, size: tuple[int, int]):
    transcript, area = Transcript(), PanelArea()
    stage = TranscriptArea(transcript, area)
    app = WidgetApp(stage, styles=STYLES, theme=theme)
    app.AUTO_FOCUS = ""

    async def fill(pilot: Pilot[None]) -> None:
        app.query_one("#rest").remove()
        block = ReplyBlock("The server runs in the **background**; the tests show one failure, which I look at next.")
        block.finish()
        transcript.add(block)
        area.set_titles(["Changes", "Jobs 1", "Agents", "Logs"], 1, "Enter output · x kills")
        area.fill(ROWS, "", follow=False)
        area.focus()
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=fill)
