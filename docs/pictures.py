"""Generator of the pictures in the documentation.

The app runs the demo or uses a scripted model, and saves its screen as SVG. The output of plain mode is written into
the tour; `python docs/pictures.py plain` does only this.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
TOUR = ROOT / "docs" / "tour.md"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fakes.model_server import ModelServer  # noqa: E402  the path comes first
from fakes.script import Hang, Reply, tokens  # noqa: E402
from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Input, TextArea  # noqa: E402

from cinch_tui.app.app import CinchApp  # noqa: E402
from cinch_tui.cli.arguments import parse_arguments  # noqa: E402
from cinch_tui.cli.start import prepare  # noqa: E402
from cinch_tui.screens.changes import ChangesScreen  # noqa: E402
from cinch_tui.screens.dialog import Dialog  # noqa: E402
from cinch_tui.screens.settings import SettingsScreen  # noqa: E402
from cinch_tui.screens.welcome import WelcomeScreen  # noqa: E402

SIZE = (110, 34)
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "CINCH_KEYRING": "off"}
KEYS = ("_API_KEY", "_BASE_URL", "OPENROUTER_KEY")
MODEL = "anthropic/claude-sonnet-5-5"

RECEIPT = """\
\"\"\"Receipts of the shop.\"\"\"


def total(prices, discount=0):
    return sum(prices) * (1 - discount)


def tax(amount, rate=0.19):
    return amount * rate


def line(name, price):
    return f"{name} {price}"
"""
FIXED = (
    RECEIPT.replace("sum(prices) * (1 - discount)", "round(sum(prices) * (1 - discount / 100), 2)")
    .replace("rate=0.19", "rate=0.2")
    .replace('f"{name} {price}"', 'f"{name:<20} {price:>8.2f}"')
)
FINDINGS = """\
The discount is **given in percent and used as a fraction**:

```python
# till/receipt.py:5
return sum(prices) * (1 - discount)      # total([50], 10) is -450
```

This has three consequences:

1. `total` is negative for every discount above 1.
2. `tests/test_receipt.py` passes, because it only tests `discount=0`.
3. The label prints the result of `total`, so
"""
READ_REPLY = Reply("Let me see where it is computed.", calls=[("read_file", {"path": "till/receipt.py"})])
WRITE_REPLY = Reply(
    "Three places need to change.", calls=[("write_file", {"path": "till/receipt.py", "content": FIXED})]
)


async def until(pilot: Pilot[object], condition: Callable[[], bool]) -> None:
    """Wait until the condition is true."""
    async with asyncio.timeout(30):
        while not condition():
            await pilot.pause(0.02)


def shows(pilot: Pilot[object], text: str) -> Callable[[], bool]:
    return lambda: text in pilot.app.export_screenshot().replace("&#160;", " ")


def asks(pilot: Pilot[object], about: str) -> Callable[[], bool]:
    """Return a condition: a dialog that contains `about` is open and accepts keys."""

    def is_open() -> bool:
        screen = pilot.app.screen
        if not isinstance(screen, Dialog) or screen.waiting or not screen.query("OptionList, AnswerBar"):
            return False
        return shows(pilot, about)()

    return is_open


async def draw(pilot: Pilot[object], name: str) -> None:
    # A blinking cursor would make pictures depend on the time.
    for field in (field for screen in pilot.app.screen_stack for field in screen.query("Input, TextArea")):
        assert isinstance(field, Input | TextArea)
        field.cursor_blink = False
    await pilot.pause(0.4)
    (IMAGES / f"{name}.svg").write_text(pilot.app.export_screenshot(title="cinch"), encoding="utf-8")


async def send(pilot: Pilot[object], text: str) -> None:
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
        await send(pilot, "fix the discount")
        await until(pilot, asks(pilot, "unittest"))
        await draw(pilot, "command")
        await pilot.press("s")
        await until(pilot, asks(pilot, "receipt.py"))
        await draw(pilot, "approval")
        await pilot.press("ctrl+end", "y")
        await until(pilot, asks(pilot, "again?"))
        await draw(pilot, "question")
        await pilot.press("1")
        await until(pilot, lambda: not app.controller.is_running)
        await draw(pilot, "conversation")
        await after_the_run(pilot, app)


async def after_the_run(pilot: Pilot[object], app: CinchApp) -> None:
    """Draw the screens used after a run."""
    await pilot.press("ctrl+f", *"discount")
    await until(pilot, shows(pilot, " of "))
    await draw(pilot, "search")
    await pilot.press("escape")
    await send(pilot, "/diff")
    await until(pilot, lambda: isinstance(app.screen, ChangesScreen) and shows(pilot, "receipt.py")())
    await draw(pilot, "changes")
    await pilot.press("escape")
    await pilot.press("f10")
    await draw(pilot, "panels")
    await pilot.press("escape")
    await send(pilot, "/settings")
    await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
    await draw(pilot, "settings")
    await pilot.press("escape")
    app.theme_switch.preview("cinch-light")
    await draw(pilot, "light")


async def streaming(app: CinchApp) -> None:
    """Draw a streaming reply with queued messages."""
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, MODEL))
        await send(pilot, "why is the total of a receipt negative?")
        await until(pilot, shows(pilot, "The label prints the result"))
        await send(pilot, "check the label too")
        await pilot.press(*"then", "space", *"add", "space", "a", "space", *"test", "alt+enter")
        await pilot.press(*"and", "space", *"mention")
        await until(pilot, shows(pilot, "then add a test"))
        await draw(pilot, "streaming")


async def review(app: CinchApp) -> None:
    """Draw a hunk review."""
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, shows(pilot, MODEL))
        await send(pilot, "fix the receipt")
        await until(pilot, asks(pilot, "receipt.py"))
        await pilot.press("h", "y", "d")
        await pilot.press(*"keep", "space", *"the", "space", *"tax", "enter")
        await draw(pilot, "hunks")


def by_lines() -> str:
    """Return the plain mode output for an edit in the demo."""
    done = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "demo", "--plain"],
        input="fix the discount\ns\ny\n1\n",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = re.search(r"^Approval: Edit file.*^Result: edit_file [^\n]*\n", done.stdout, re.DOTALL | re.MULTILINE)
    assert found, done.stdout
    return re.sub(r"\S*/cinch-tour-\w+", "/tmp/cinch-tour", found[0])


def with_lines(page: str, lines: str) -> str:
    """Return the page with these lines as its plain mode example."""
    return re.sub(r"(?<=^```text\n)Approval: .*?(?=^```$)", lambda _: lines, page, flags=re.DOTALL | re.MULTILINE)


def app_of(*arguments: str) -> CinchApp:
    return CinchApp(*prepare(parse_arguments(list(arguments))))


def write_plain_example() -> None:
    TOUR.write_text(with_lines(TOUR.read_text(encoding="utf-8"), by_lines()), encoding="utf-8")


def draw_all() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.endswith(KEYS)]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="cinch-") as home:
        os.environ |= {"CINCH_HOME": home, **TERMINAL}
        shop = Path(home) / "shop"
        for name in ("till/receipt.py", "till/label.py", "tests/test_receipt.py"):
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).write_text(RECEIPT if name == "till/receipt.py" else "", encoding="utf-8")
        os.chdir(shop)
        asyncio.run(first_start(app_of()))
        asyncio.run(tour(app_of("-m", "demo")))
        script = [READ_REPLY, WRITE_REPLY, READ_REPLY, Hang(Reply(FINDINGS), after_events=len(tokens(FINDINGS)))]
        with ModelServer(script) as server:
            # A new home: the demo leaves a panel open.
            os.environ |= {"CINCH_HOME": f"{home}/other", "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x"}
            asyncio.run(review(app_of("-m", MODEL)))
            asyncio.run(streaming(app_of("-m", MODEL)))


if __name__ == "__main__":
    write_plain_example()
    if sys.argv[1:] != ["plain"]:
        draw_all()
