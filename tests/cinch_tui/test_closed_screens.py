from __future__ import annotations

import gc
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual._styles_cache import StylesCache

from cinch_tui.screens.chat import ChatScreen
from cinch_tui.screens.help import HelpScreen


def painted() -> int:
    gc.collect()
    return sum(isinstance(thing, StylesCache) for thing in gc.get_objects())


async def test_closed_screens_keep_no_painted_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-closed")
    app = chat(tmp_path)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        counted: list[int] = []
        for _ in range(4):
            await pilot.press("f1")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen) and app.screen.query("#sections"))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ChatScreen))
            await pilot.pause()
            counted.append(painted())

    assert counted[-1] <= counted[0]
