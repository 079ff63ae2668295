"""The whole app in a folder, with a scripted model server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare


def chat(cwd: Path, *arguments: str) -> CinchApp:
    options, settings = prepare(parse_arguments(["-m", "anthropic/played", "--cwd", str(cwd), *arguments]))
    return CinchApp(options, settings)


async def until(pilot: Pilot[object], condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await pilot.pause(0.01)


async def ready(pilot: Pilot[object], app: CinchApp) -> None:
    """Wait until the agent exists and the prompt is on the screen."""
    await until(pilot, lambda: app.controller._assembly is not None and app.controller.sender.ready.is_set())
