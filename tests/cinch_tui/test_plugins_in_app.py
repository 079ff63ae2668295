"""`/plugin`, and a plugin that comes and goes during a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.recording_host import RecordingHost

from cinch_tui.app.app import CinchApp
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.config.paths import Paths
from cinch_tui.plugin_folders import plugin_store
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.transcript.blocks import transcript_text
from extensions.plugins.store import InstalledPlugin


def install(paths: Paths) -> None:
    store = plugin_store(paths)
    folder = store.folder / "tidy-1"
    (folder / "skills" / "sweep").mkdir(parents=True)
    (folder / "skills" / "sweep" / "SKILL.md").write_text("---\nname: sweep\ndescription: Sweeps\n---\nSweep.")
    record = InstalledPlugin("tidy-1", "./tidy", version="1.0.0", description="Keeps things tidy")
    (store.folder / "plugins.json").write_text(json.dumps({"tidy": {"copy": record.copy, "source": record.source}}))


def has_sweep(app: CinchApp) -> bool:
    return "sweep" in app.controller.assembly.folder.prompt


async def test_plugin_is_shown_and_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    app = chat(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        before, screen = has_sweep(app), app.screen
        assert isinstance(screen, ChatScreen)
        install(app.controller.options.paths)
        screen.process_input("/plugin reload")
        await until(pilot, lambda: has_sweep(app))
        screen.process_input("/plugin")
        await until(pilot, lambda: "tidy: 1 skill" in transcript_text(app.controller.view.widgets.transcript.blocks))
        command = builtin_commands().find("/plugin")
        assert command is not None
        assert command.arguments is not None
        host = RecordingHost()
        host.session.options = app.controller.options
        choices = [each.value for each in command.arguments(host)]
        screen.process_input("/plugin disable tidy")
        await until(pilot, lambda: not has_sweep(app))

    assert not before
    assert choices == ["reload", "tidy", "disable tidy"]
