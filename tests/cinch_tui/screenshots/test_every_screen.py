from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import chat, ready
from fakes.model_server import ModelServer
from fakes.painting import Painting, paint, side_by_side, strips_of
from fakes.stages import SPOKEN, STAGES, Stage
from soak.keyboard import every_screen
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.pilot import Pilot

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.conversation import ConversationScreen
from cinch_tui.screens.dialog import Dialog, DockedDialog
from cinch_tui.screens.screen import FrameLimitedScreen, SelectingScreen

SIZES = ((80, 24), (120, 40), (200, 60))
TERMINAL = {
    "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
    "CINCH_UI_MOTION": "reduced",
    "COLORTERM": "truecolor",
    "TERM": "xterm-256color",
}
THEMES = ("cinch-dark", "cinch-light")
PATTERNS = {ConversationScreen, Dialog, DockedDialog, FrameLimitedScreen, SelectingScreen}
"""What other screens are made from, and nobody sees by itself."""


class Painted(SingleFileSnapshotExtension):
    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CinchApp]:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    # The start banner shows the folder.
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in TERMINAL.items():
        monkeypatch.setenv(name, value)
    with ModelServer(SPOKEN) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield chat(tmp_path / "shop")


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
async def test_a_screen_looks_as_it_did(app: CinchApp, stage: Stage, snapshot: SnapshotAssertion):
    async with app.run_test(size=SIZES[0]) as pilot:
        await ready(pilot, app)
        await stage.show(pilot, app)
        assert type(app.screen) is stage.screen
        for field in (field for screen in app.screen_stack for field in screen.query("Input, TextArea")):
            field.cursor_blink = False

        themes = THEMES
        for columns, rows in SIZES:
            await pilot.resize_terminal(columns, rows)
            painted = {name: await settled(pilot, app, name) for name in themes}
            kept = snapshot.use_extension(Painted)(name=f"{columns}x{rows}")
            assert side_by_side({name: painted[name] for name in THEMES}) == kept
            # A theme change styles every widget anew; the next size begins with the theme of this one.
            themes = themes[::-1]


async def settled(pilot: Pilot[object], app: CinchApp, theme: str) -> Painting:
    """Return the screen in a theme, once it does not change any more."""
    app.theme_switch.preview(theme)
    transcript = app.controller.view.widgets.transcript
    before, now = None, strips_of(app)
    async with asyncio.timeout(30):
        while before != now:
            await transcript.drained()
            # The scroll bar is redrawn only when its thumb moves by half a cell: smaller steps depend on earlier sizes.
            transcript._thumb = (-1, -1)
            transcript._place_scrollbar()
            await pilot.pause()
            before, now = now, strips_of(app)
    return paint(app)


def test_every_screen_has_a_picture():
    assert {stage.screen for stage in STAGES} == set(every_screen()) - PATTERNS
