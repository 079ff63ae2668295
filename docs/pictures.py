"""Draws the pictures of the README: the app itself plays the tour, and saves its own screen as SVG."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT))

from textual.pilot import Pilot  # noqa: E402  the path comes first
from textual.widgets import OptionList  # noqa: E402

from cinch_tui.app import CinchApp  # noqa: E402
from cinch_tui.arguments import parse_arguments  # noqa: E402
from cinch_tui.screens.dialog import Dialog  # noqa: E402
from cinch_tui.start import prepare  # noqa: E402
from cinch_tui.theming import load_theme  # noqa: E402

SIZE = (110, 34)


async def until(pilot: Pilot[object], condition: Callable[[], bool]) -> None:
    """Wait for something to be on the screen."""
    async with asyncio.timeout(20):
        while not condition():
            await pilot.pause(0.02)


def asks(pilot: Pilot[object], about: str) -> Callable[[], bool]:
    """Whether a dialog is up that speaks of `about` and listens."""

    def up() -> bool:
        screen = pilot.app.screen
        if not isinstance(screen, Dialog) or screen.waiting or not screen.query(OptionList):
            return False
        return about in pilot.app.export_screenshot().replace("&#160;", " ")

    return up


async def draw(pilot: Pilot[object], name: str) -> None:
    await pilot.pause(0.3)
    (IMAGES / f"{name}.svg").write_text(pilot.app.export_screenshot(title="cinch"), encoding="utf-8")


async def tour(app: CinchApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "demo/tour" in app.export_screenshot())
        await pilot.press(*"mend", "space", *"the", "space", *"discount", "enter")
        await until(pilot, asks(pilot, "unittest"))
        await pilot.press("s")
        await until(pilot, asks(pilot, "receipt.py"))
        await draw(pilot, "approval")
        await pilot.press("y")
        await until(pilot, asks(pilot, "once more"))
        await draw(pilot, "question")
        await pilot.press("1")
        await until(pilot, lambda: not app.desk.is_running)
        await draw(pilot, "conversation")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"CINCH_HOME": home, "CINCH_KEYRING": "off"}
        options, settings = prepare(parse_arguments(["-m", "demo"]))
        asyncio.run(tour(CinchApp(options, settings, load_theme(settings.ui.theme))))


if __name__ == "__main__":
    main()
