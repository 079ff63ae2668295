"""The whole app with panels, and their content."""

from __future__ import annotations

from collections.abc import Callable

from fakes.chat import ready, until
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.widgets.panel_area import PanelArea

SLEEPER = "echo begun; sleep 300"


def area(app: CinchApp) -> PanelArea | None:
    found = app.controller.view.query(PanelArea)
    return found.first() if found else None


def lines(app: CinchApp) -> list[str]:
    """Return the rows of the panel next to the conversation."""
    shown = area(app)
    return [" ".join(f"{row.label} {row.detail}".split()) for row in shown._rows] if shown else []


def calls(app: CinchApp) -> str:
    panel = app.controller.view.widgets.tool_panel
    return str(panel.render()) if panel.has_calls else ""


async def say(pilot: Pilot[object], app: CinchApp, text: str, seen: Callable[[], object]) -> None:
    """Send a prompt or a command, and wait for its effect."""
    await ready(pilot, app)
    app.controller.view.prompt.restore(text)
    await pilot.press("enter")
    await until(pilot, seen)
