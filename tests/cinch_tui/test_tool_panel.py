from __future__ import annotations

from typing import Literal

import pytest
from fakes.chat import until
from fakes.widget_app import WidgetApp
from textual.pilot import Pilot

from cinch_tui.app.themes import DEFAULT_THEME
from cinch_tui.widgets.chat_widgets import TodoPanel, window_around_current
from cinch_tui.widgets.tool_panel import ToolPanel
from harness.views import TodoItem, TodoView


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Listening(WidgetApp):
    AUTO_FOCUS = ""

    def __init__(self, panel: ToolPanel) -> None:
        super().__init__(panel, styles=("panel",))
        self.reported: list[tuple[str, str]] = []

    def on_tool_panel_action_requested(self, message: ToolPanel.ActionRequested) -> None:
        self.reported.append((message.action, message.call_id))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def rows(panel: ToolPanel | TodoPanel) -> list[str]:
    """Its rows, without the hint on how to choose one."""
    return [row.removesuffix("F9 selects").rstrip() for row in str(panel.render()).split("\n")]


def unfocused(*widgets: ToolPanel | TodoPanel, styles: tuple[str, ...], theme: str = DEFAULT_THEME) -> WidgetApp:
    """As in the chat, where the prompt has the keys."""
    app = WidgetApp(*widgets, styles=styles, theme=theme)
    app.AUTO_FOCUS = ""
    return app


async def test_calls_of_one_name_are_distinguished_by_their_id(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(80, 50)) as pilot:
        for call_id, file in (("1", "a.py"), ("2", "b.py"), ("3", "c.py")):
            panel.started(call_id, "Read", file)
        clock.now += 7
        panel.finished("2", ok=True)
        panel.finished("3", ok=False)
        panel.updated("1", "half of it")
        await pilot.pause()

        assert rows(panel) == ["● Read a.py  00:07  half of it", "✓ Read b.py  00:07", "✗ Read c.py  00:07"]
        assert panel.size.height == 3


async def test_panel_is_hidden_and_without_timer_while_it_is_empty(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test() as pilot:
        assert (panel.display, panel._ticker) == (False, None)

        panel.started("1", "Shell", "make")
        await pilot.pause()
        assert (panel.display, panel._ticker is not None) == (True, True)

        panel.clear()
        await pilot.pause()
        assert (panel.display, panel._ticker) == (False, None)


async def test_a_finished_call_is_replaced_by_the_next_without_a_jump(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test() as pilot:
        panel.started("1", "Read", "a.py")
        panel.finished("1", ok=True)
        panel.retire()
        await pilot.pause()
        assert rows(panel) == ["✓ Read a.py"]

        panel.started("2", "Read", "b.py")
        await pilot.pause()

        assert rows(panel) == ["● Read b.py"]
        assert panel.size.height == 1


async def test_finished_calls_leave_the_panel_and_running_ones_stay(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test() as pilot:
        panel.started("1", "Read", "a.py")
        panel.started("2", "Shell", "make")
        panel.finished("1", ok=True)

        panel.retire()

        await until(pilot, lambda: rows(panel) == ["● Shell make"])


async def test_finished_call_fades_and_a_running_one_stays(clock: Clock):
    panel = ToolPanel(clock, fade_seconds=10)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test() as pilot:
        panel.started("1", "Shell", "make")
        panel.started("2", "Read", "a.py")
        panel.finished("2", ok=True)

        clock.now += 9.9
        panel.tick()
        await pilot.pause()
        assert len(rows(panel)) == 2

        clock.now += 0.2
        panel.tick()
        await pilot.pause()
        assert rows(panel) == ["● Shell make  00:10"]


async def test_running_calls_are_kept_when_there_are_too_many(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(80, 60)) as pilot:
        for number in range(14):
            panel.started(str(number), "Read", f"{number}.py")
            if number not in {0, 13}:
                panel.finished(str(number), ok=True)
        await pilot.pause()

        drawn = rows(panel)
        assert len(drawn) == 10
        assert drawn[0] == "● Read 0.py"
        assert drawn[-2:] == ["● Read 13.py", "  … and 5 more"]


async def test_one_row_shows_the_running_call(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(60, 10)) as pilot:
        panel.started("1", "Read", "a.py")
        panel.finished("1", ok=True)
        panel.started("2", "Shell", "make")
        await pilot.pause()

        assert rows(panel) == ["● Shell make"]


async def test_one_row_states_how_many_other_calls_run(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(40, 10)) as pilot:
        for number in range(5):
            panel.started(str(number), "Subagent", f"with a long task of its own, number {number}")
        await pilot.pause()

        (row,) = rows(panel)
        assert row.startswith("● Subagent with")
        assert row.endswith("…  +4 more")


async def test_every_call_can_be_chosen_where_few_have_room(clock: Clock):
    panel = ToolPanel(clock)
    app = Listening(panel)
    async with app.run_test(size=(60, 10)) as pilot:
        for number in range(5):
            panel.started(str(number), "Read", f"{number}.py")
        panel.focus()
        await pilot.pause()
        newest = rows(panel)
        await pilot.press(*["up"] * 9)
        oldest = rows(panel)
        await pilot.press("x", "down", "down", "x")

        assert app.reported == [("cancel", "0"), ("cancel", "2")]
        assert newest[0] == "● Read 4.py"
        assert oldest[0] == "● Read 0.py"
        assert newest[1].startswith("  5 calls · ↑ ↓ choose")


async def test_end_of_an_unknown_call_changes_nothing(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test() as pilot:
        panel.updated("9", "line")
        panel.finished("9", ok=True)
        await pilot.pause()

        assert not panel.display


async def test_text_of_a_tool_is_neither_markup_nor_control(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(80, 20)) as pilot:
        panel.started("1", "Shell", "echo [red]\x1b[2J\nls [/]")
        await pilot.pause()

        assert rows(panel) == ["● Shell echo [red]␛[2J ls [/]"]


async def test_long_row_is_cut_to_the_width(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(40, 20)) as pilot:
        panel.started("1", "Shell", "pytest " * 20)
        await pilot.pause()

        [row] = rows(panel)
        assert len(row) == 38
        assert row.endswith("…")


def todo(*statuses: Literal["pending", "in_progress", "completed"]) -> TodoView:
    return TodoView(tuple(TodoItem(f"step {number}", status) for number, status in enumerate(statuses, 1)))


async def test_a_long_command_leaves_room_for_what_it_is_at(clock: Clock):
    panel = ToolPanel(clock)
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(44, 50)) as pilot:
        panel.started("1", "Run", "for file in *.log; do gzip $file; done; ls")
        panel.updated("1", "line 5")
        clock.now += 2
        await pilot.pause()

        (row,) = rows(panel)
        assert row.startswith("● Run for file in")
        assert row.endswith("…  00:02  line 5")


async def test_todo_shows_what_is_done_now_and_next():
    panel = TodoPanel()
    app = unfocused(panel, styles=("panel",))
    async with app.run_test(size=(60, 40)) as pilot:
        assert not panel.display

        panel.todo = todo(*["completed"] * 4, "in_progress", *["pending"] * 5)
        await pilot.pause()
        assert [row.split()[0] for row in rows(panel)] == ["✓", "▸", "○", "○", "○"]
        assert rows(panel)[0].endswith("4/10")

        panel.todo = todo(*["completed"] * 10)
        await pilot.pause()
        assert not panel.display

        panel.todo = TodoView(())
        assert rows(panel) == [""]


@pytest.mark.parametrize(("current", "rows", "first"), [(0, 3, 0), (1, 3, 0), (5, 3, 4), (9, 3, 7), (5, 1, 5)])
def test_todo_window_follows_the_current_step(current: int, rows: int, first: int):
    view = todo(*["completed"] * current, *["pending"] * (10 - current))

    shown = window_around_current(view.items, rows)

    assert shown == view.items[first : first + rows]


@pytest.mark.parametrize("theme", ["cinch-dark", "cinch-light"])
def test_panels_picture(snap_compare, clock: Clock, theme: str):
    tools, plan = ToolPanel(clock), TodoPanel()

    async def fill(pilot: Pilot[None]) -> None:
        tools.started("1", "Shell", "pytest -q")
        tools.started("2", "Read", "harness/agent/loop.py")
        tools.started("3", "Edit", "harness/agent/tool_calls.py")
        clock.now += 8
        tools.finished("2", ok=True)
        tools.finished("3", ok=False)
        clock.now += 4
        tools.updated("1", "tests/test_loop.py ......  [ 42%]")
        plan.todo = todo("completed", "in_progress", "pending", "pending")
        await pilot.pause()

    assert snap_compare(unfocused(tools, plan, styles=("panel",), theme=theme), terminal_size=(80, 24), run_before=fill)


async def test_with_the_focus_a_call_is_chosen_and_what_is_to_be_done_is_reported(clock: Clock):
    panel = ToolPanel(clock)
    app = Listening(panel)
    async with app.run_test(size=(100, 50)) as pilot:
        for call_id, file in (("1", "a.py"), ("2", "b.py"), ("3", "c.py")):
            panel.started(call_id, "Read", file)
        panel.finished("3", ok=True)
        panel.focus()
        await pilot.pause()
        await pilot.press("x", "up", "b", "down", "down", "x", "enter")

        assert app.reported == [("cancel", "2"), ("background", "1"), ("show", "3")]
        assert rows(panel)[-1].startswith("  ↑ ↓ choose · x cancels")


async def test_a_click_chooses_the_call(clock: Clock):
    panel = ToolPanel(clock)
    app = Listening(panel)
    async with app.run_test(size=(100, 50)) as pilot:
        for call_id, file in (("1", "a.py"), ("2", "b.py")):
            panel.started(call_id, "Read", file)
        await pilot.pause()
        await pilot.click(panel, offset=(3, 0))
        await pilot.press("x")

        assert app.reported == [("cancel", "1")]
