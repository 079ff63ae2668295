from __future__ import annotations

import pytest
from fakes.widget_app import WidgetApp

from cinch_tui.widgets.status_bar import ContextGauge, fill_of


@pytest.mark.parametrize(
    ("percent", "fill"),
    [(0, "low"), (59, "low"), (60, "medium"), (84, "medium"), (85, "medium"), (86, "high"), (130, "high")],
)
def test_gauge_changes_at_60_and_above_85_percent(percent: int, fill: str):
    assert fill_of(percent) == fill


@pytest.mark.parametrize(
    ("used", "drawn", "name"),
    [
        (0, "░░░░░░░░░░   0%", "-low"),
        (590, "██████░░░░  59%", "-low"),
        (600, "██████░░░░  60%", "-medium"),
        (840, "████████░░  84%", "-medium"),
        (860, "█████████░  86%", "-high"),
        (1000, "██████████ 100%", "-high"),
        (99_000, "██████████ 999%", "-high"),
    ],
)
async def test_gauge_has_ten_cells_a_number_and_a_class(used: int, drawn: str, name: str):
    gauge = ContextGauge()
    app = WidgetApp(gauge, styles=("status",))
    async with app.run_test() as pilot:
        gauge.update(used, 1000)
        await pilot.pause()

        assert str(gauge.render()) == drawn
        assert {"-low", "-medium", "-high"} & set(gauge.classes) == {name}


async def test_unknown_window_draws_nothing():
    gauge = ContextGauge()
    app = WidgetApp(gauge, styles=("status",))
    async with app.run_test() as pilot:
        assert not gauge.display

        gauge.update(500, 1000)
        await pilot.pause()
        assert gauge.display

        gauge.update(500, 0)
        await pilot.pause()
        assert not gauge.display


async def test_number_and_colour_never_disagree():
    gauge = ContextGauge()
    app = WidgetApp(gauge, styles=("status",))
    async with app.run_test():
        gauge.update(5_960, 10_000)

        assert str(gauge.render()).endswith("60%")
        assert gauge.has_class("-medium")
