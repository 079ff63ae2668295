"""Draws the pictures of the documents: the app itself plays the tour, and saves its own screen as SVG."""

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
from textual.widgets import Input, OptionList, TextArea  # noqa: E402

from cinch_tui.app import CinchApp  # noqa: E402
from cinch_tui.arguments import parse_arguments  # noqa: E402
from cinch_tui.screens.changes import ChangesScreen  # noqa: E402
from cinch_tui.screens.dialog import Dialog  # noqa: E402
from cinch_tui.screens.settings import SettingsScreen  # noqa: E402
from cinch_tui.screens.welcome import WelcomeScreen  # noqa: E402
from cinch_tui.start import prepare  # noqa: E402

SIZE = (110, 34)
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "CINCH_KEYRING": "off"}
KEYS = ("_API_KEY", "_BASE_URL", "OPENROUTER_KEY")


async def until(pilot: Pilot[object], condition: Callable[[], bool]) -> None:
    """Wait for something to be on the screen."""
    async with asyncio.timeout(30):
        while not condition():
            await pilot.pause(0.02)


def shows(pilot: Pilot[object], words: str) -> Callable[[], bool]:
    return lambda: words in pilot.app.export_screenshot().replace("&#160;", " ")


def asks(pilot: Pilot[object], about: str) -> Callable[[], bool]:
    """Whether a dialog is up that speaks of `about` and listens."""

    def up() -> bool:
        screen = pilot.app.screen
        if not isinstance(screen, Dialog) or screen.waiting or not screen.query(OptionList):
            return False
        return shows(pilot, about)()

    return up


async def draw(pilot: Pilot[object], name: str) -> None:
    # No picture depends on when it is taken.
    for field in (field for screen in pilot.app.screen_stack for field in screen.query("Input, TextArea")):
        assert isinstance(field, Input | TextArea)
        field.cursor_blink = False
    await pilot.pause(0.4)
    (IMAGES / f"{name}.svg").write_text(pilot.app.export_screenshot(title="cinch"), encoding="utf-8")


async def say(pilot: Pilot[object], text: str) -> None:
    await pilot.press(*("space" if letter == " " else letter for letter in text), "enter")


async def first_start(app: CinchApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, WelcomeScreen) and shows(pilot, "Take the tour")())
        await draw(pilot, "welcome")


async def tour(app: CinchApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, "demo/tour"))
        await pilot.press(*"why", "space", *"@rec")
        await until(pilot, shows(pilot, "receipt.py"))
        await draw(pilot, "mention")
        await pilot.press("escape", "ctrl+u")
        await say(pilot, "mend the discount")
        await until(pilot, asks(pilot, "unittest"))
        await draw(pilot, "command")
        await pilot.press("s")
        await until(pilot, asks(pilot, "receipt.py"))
        await draw(pilot, "approval")
        await pilot.press("y")
        await until(pilot, asks(pilot, "once more"))
        await draw(pilot, "question")
        await pilot.press("1")
        await until(pilot, lambda: not app.desk.is_running)
        await draw(pilot, "conversation")
        await afterwards(pilot, app)


async def afterwards(pilot: Pilot[object], app: CinchApp) -> None:
    """What one looks at when the work is done."""
    await pilot.press("ctrl+f", *"discount")
    await until(pilot, shows(pilot, " of "))
    await draw(pilot, "search")
    await pilot.press("escape")
    await say(pilot, "/diff")
    await until(pilot, lambda: isinstance(app.screen, ChangesScreen) and shows(pilot, "receipt.py")())
    await draw(pilot, "changes")
    await pilot.press("escape")
    await pilot.press("f10")
    await draw(pilot, "panels")
    await pilot.press("escape")
    await say(pilot, "/settings")
    await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
    await draw(pilot, "settings")
    await pilot.press("escape")
    app.theme_switch.preview("cinch-light")
    await draw(pilot, "light")


def app_of(*arguments: str) -> CinchApp:
    return CinchApp(*prepare(parse_arguments(list(arguments))))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.endswith(KEYS)]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"CINCH_HOME": home, **TERMINAL}
        shop = Path(home) / "shop"
        for name in ("till/receipt.py", "till/label.py", "tests/test_receipt.py"):
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).touch()
        os.chdir(shop)
        asyncio.run(first_start(app_of()))
        asyncio.run(tour(app_of("-m", "demo")))


if __name__ == "__main__":
    main()
