from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Hang, Reply

from cinch_tui.command_host.settings import live_settings


@pytest.mark.parametrize("command", ["/new", "/reset"])
async def test_a_new_session_does_not_report_the_end_of_the_former_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with ModelServer([Hang(Reply("and so on"), after_events=3)]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: server.requests and app.controller.is_running)
            await pilot.press("escape")
            await until(pilot, lambda: not app.controller.is_running)
            bar = app.controller.view.widgets.status
            await until(pilot, lambda: bar.status.state == "aborted")
            await pilot.press(*command, "enter")
            await until(pilot, lambda: bar.status.state == "idle")


async def test_session_changes_by_command_or_key_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)

    async with app.run_test() as pilot:
        await ready(pilot, app)
        before = live_settings(app.controller)
        await pilot.press(*"#approve off", "enter", "f3")
        await until(pilot, lambda: app.controller.agent.state.approval == "off")
        after = live_settings(app.controller)

    changed = {name: value for name, value in after.items() if before[name] != value}
    assert changed == {"approval.mode": "off", "ui.theme": "mono-white"}
