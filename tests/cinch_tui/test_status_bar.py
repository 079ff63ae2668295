from __future__ import annotations

import pytest
from fakes.widget_app import WidgetApp
from msgspec.structs import replace
from textual.color import Color
from textual.pilot import Pilot

from cinch_tui.app.themes import theme_names
from cinch_tui.widgets.status_bar import (
    Arrangement,
    ContextGauge,
    Status,
    StatusBar,
    StatusLine,
    arranged,
    fit,
    format_count,
    format_elapsed,
    parts_of,
)

FULL = Status(
    state="running",
    plan=True,
    approval="off",
    model="anthropic/claude-opus-4-5",
    tokens_in=12_345,
    tokens_out=987,
    cost=0.12341,
    queued=2,
    note="retry 2/3",
    branch="main",
)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def line_of(app: WidgetApp) -> str:
    return str(app.query_one(StatusLine).render())


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0K"),
        (9_999, "9.9K"),
        (10_000, "10K"),
        (999_999, "999K"),
        (1_000_000, "1.0M"),
        (12_345_678, "12.3M"),
    ],
)
def test_counts_are_short_and_never_rounded_up(number: int, text: str):
    assert format_count(number) == text


@pytest.mark.parametrize(
    ("files", "text", "short"),
    [
        ((), None, None),
        (("AGENTS.md",), "AGENTS.md skipped", "not trusted"),
        (("AGENTS.md", ".cinch/config.toml", ".mcp.json"), "AGENTS.md +2 skipped", "not trusted"),
        (("a\x1b[2Jb\n.md",), "ab .md skipped", "not trusted"),
    ],
)
def test_files_of_an_untrusted_folder_are_named(files: tuple[str, ...], text: str | None, short: str | None):
    shown = [part for part in parts_of(Status(skipped=files), None) if "skipped" in part.text]

    assert [(part.text, part.short) for part in shown] == ([(text, short)] if text else [])


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "00:00"), (61, "01:01"), (3599, "59:59"), (3661, "01:01:01")])
def test_elapsed_time_has_hours_only_when_needed(seconds: float, text: str):
    assert format_elapsed(seconds) == text


@pytest.mark.parametrize("state", ["idle", "running", "error", "aborted"])
def test_state_is_text_and_not_only_a_color(state):
    assert parts_of(Status(state=state), 0)[0].text == f"[{state.upper()}]"


def test_cost_of_a_local_model_is_free():
    assert "free" in [part.text for part in parts_of(Status(tokens_in=10, tokens_out=5, cost=0.0), 0)]


def test_unknown_price_is_not_zero():
    texts = [part.text for part in parts_of(Status(tokens_in=10, tokens_out=5), 0)]

    assert "cost unknown" in texts
    assert not any("$0" in text for text in texts)


def test_known_price_has_four_decimals():
    assert "$0.1234" in [part.text for part in parts_of(FULL, 0)]


def test_smart_approval_is_not_shown():
    assert len(parts_of(Status(), 0)) == 1


@pytest.mark.parametrize("width", range(8, 140))
def test_line_fits_every_width(width: int):
    shown = fit(parts_of(FULL, 65), width)

    assert shown[0].text == "[RUNNING]"
    assert len("  ".join(part.text for part in shown)) <= max(width, len("[RUNNING]"))


def test_least_important_parts_go_first():
    shown = [part.text for part in fit(parts_of(FULL, 65), 60)]

    assert shown[:4] == ["[RUNNING]", "⠋ 01:05", "PLAN", "approve:off"]
    assert "⎇ main" not in shown


def test_model_loses_its_provider_before_anything_is_left_out():
    status = replace(FULL, plan=False, approval="smart", queued=0, note="", branch="")
    wide = [part.text for part in fit(parts_of(status, 65), 100)]
    narrow = [part.text for part in fit(parts_of(status, 65), len("  ".join(wide)) - 1)]

    assert "anthropic/claude-opus-4-5" in wide
    assert "claude-opus-4-5" in narrow
    assert len(narrow) == len(wide)


async def test_bar_ticks_only_while_the_agent_runs():
    clock = Clock()
    bar = StatusBar(clock)
    app = WidgetApp(bar, styles=("status",))
    async with app.run_test(size=(100, 8)) as pilot:
        line = app.query_one(StatusLine)
        assert line._ticker is None

        bar.status = Status(state="running", model="demo/tour")
        await pilot.pause()
        clock.now += 61
        assert line._ticker is not None
        assert "01:01" in line_of(app)

        bar.status = replace(bar.status, state="idle")
        await pilot.pause()
        assert line._ticker is None
        assert line_of(app) == "[IDLE]  demo/tour"


async def test_text_from_outside_is_neither_markup_nor_control():
    bar = StatusBar()
    app = WidgetApp(bar, styles=("status",))
    async with app.run_test(size=(100, 8)) as pilot:
        bar.status = Status(model="x/[red]m[/red]", note="bad \x1b[2J[/] news")
        await pilot.pause()

        assert line_of(app) == "[IDLE]  bad ␛[2J[/] news  x/[red]m[/red]"


@pytest.mark.parametrize(
    ("theme", "width"), [("cinch-dark", 100), ("cinch-light", 80), ("mono-white", 60), ("solarized-dark", 40)]
)
def test_status_bar_picture(snap_compare, theme: str, width: int):
    bar = StatusBar(Clock())

    async def fill(pilot: Pilot[None]) -> None:
        bar.status = FULL
        bar.update_context(71_000, 100_000)
        await pilot.pause()

    app = WidgetApp(bar, styles=("status",), theme=theme)
    assert snap_compare(app, terminal_size=(width, 6), run_before=fill)


@pytest.mark.parametrize("theme", [name for name in theme_names() if not name.startswith("ansi")])
async def test_plan_mode_can_be_read_as_it_is_painted(theme: str):
    bar = StatusBar()
    app = WidgetApp(bar, styles=("status",), theme=theme)

    async with app.run_test(size=(100, 8)) as pilot:
        bar.status = FULL
        await pilot.pause()
        painted = app.query_one(StatusLine).render_line(0)

    style = next(segment.style for segment in painted if segment.style and "PLAN" in segment.text)
    letters, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    assert abs(letters.brightness - ground.brightness) > 0.3


def test_items_come_in_the_order_that_is_set():
    parts = arranged(parts_of(replace(FULL, command_line="my line"), 65), ("model", "command", "state", "model"))

    assert [part.item for part in parts] == ["model", "command", "state", "state"]


async def test_reduced_motion_shows_text_and_uses_no_timer():
    bar = StatusBar(arrangement=Arrangement(moves=False))
    app = WidgetApp(bar, styles=("status",))

    async with app.run_test(size=(80, 5)) as pilot:
        bar.status = Status(state="running")
        await pilot.pause()
        line = bar.query_one(StatusLine)
        text, is_ticking = str(line.render()), line._ticker is not None

    assert text.startswith("[RUNNING]  working")
    assert not is_ticking


async def test_gauge_can_be_left_out():
    bar = StatusBar(arrangement=Arrangement(("state",)))
    app = WidgetApp(bar, styles=("status",))

    async with app.run_test(size=(80, 5)):
        bar.update_context(10, 100)
        is_shown = bar.query_one(ContextGauge).display

    assert not is_shown
