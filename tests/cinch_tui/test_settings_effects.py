from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.pilot import Pilot
from textual.widgets import Input

from cinch_tui.app.app import CinchApp
from cinch_tui.config.names import build, keys
from cinch_tui.config.setting import AT_ONCE, NEXT_PROMPT, NEXT_START, Value
from cinch_tui.rendering.styles import diff_styles
from cinch_tui.screens.context import ContextScreen
from cinch_tui.screens.help import HelpPanel
from cinch_tui.screens.picker import Picker
from cinch_tui.screens.setting_effects import SettingEffects
from cinch_tui.screens.settings import SettingsScreen
from cinch_tui.widgets.status_bar import StatusLine
from harness.agent.policies import LoopDetection


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


def line(app: CinchApp) -> str:
    return str(app.screen_stack[0].query_one(StatusLine).render())


EFFECTS: list[tuple[str, Value, Callable[[CinchApp], object], object]] = [
    ("ui.theme", "high-contrast", lambda app: app.theme, "high-contrast"),
    ("ui.motion", "reduced", lambda app: app.animation_level, "none"),
    ("ui.status", ("model",), line, "anthropic/played"),
    ("ui.show_thinking", False, lambda app: app.controller.view.widgets.shows_thinking, False),
    ("ui.timestamps", True, lambda app: app.controller.view.widgets.transcript.options.stamps, True),
    ("ui.status_command", "date", lambda app: app.controller.settings.ui.status_command, "date"),
    (
        "ui.side_by_side_min_columns",
        100,
        lambda app: diff_styles(app.controller.view.widgets.transcript).split_from,
        90,
    ),
    (
        "ui.side_by_side_min_columns",
        0,
        lambda app: diff_styles(app.controller.view.widgets.transcript).split_from,
        1_000_000,
    ),
    ("model.thinking", "high", lambda app: app.controller.agent.state.model.spec.thinking, "high"),
    ("model.max_tokens", 77, lambda app: app.controller.agent.state.max_tokens, 77),
    ("approval.mode", "on", lambda app: (app.controller.agent.state.approval, "approve:on" in line(app)), ("on", True)),
    ("limits.max_turns", 3, lambda app: app.controller.agent.options.limits.max_turns, 3),
    ("limits.loop_detection", False, lambda app: LoopDetection in map(type, app.controller.agent.options.hooks), False),
    ("retry.max_retries", 9, lambda app: app.controller.agent.options.retry.max_retries, 9),
    ("tools.batch_size", 2, lambda app: app.controller.agent.options.execution.concurrency, 2),
    ("steering.queue", "all", lambda app: app.controller.agent.inbox.steering.mode, "all"),
    ("subagents.max_turns", 4, lambda app: app.controller.agent.options.subagents.max_turns, 4),
]


@pytest.mark.parametrize(
    ("name", "value", "seen", "expected"), EFFECTS, ids=lambda each: each if isinstance(each, str) else ""
)
async def test_a_setting_that_need_not_wait_takes_effect(
    tmp_path: Path, name: str, value: Value, seen: Callable[[CinchApp], object], expected: object
):
    app = chat(tmp_path)

    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot, app)
        app.controller.change_settings(build({"model.name": "anthropic/played", name: value}), {name})
        await until(pilot, lambda: seen(app) == expected)

    assert keys()[name].applies in (AT_ONCE, NEXT_PROMPT)


def test_every_setting_states_when_a_change_applies():
    assert {key.applies for key in keys().values()} == {AT_ONCE, NEXT_PROMPT, NEXT_START}


READ_WHEN_NEEDED = {"ui.editor", "ui.show_last_exchange", "ui.status_interval_s"}


def test_every_setting_of_the_view_has_an_effect(tmp_path: Path):
    app = chat(tmp_path)

    applied = {name for name, key in keys().items() if name.startswith("ui.") and key.applies == AT_ONCE}
    assert SettingEffects(app, app.controller, app.controller.options).names == applied - READ_WHEN_NEEDED


async def say(pilot: Pilot[object], app: CinchApp, text: str) -> None:
    app.controller.view.prompt.insert(text)
    await pilot.press("enter")


async def test_a_change_in_the_settings_is_in_the_file_and_on_the_screen(tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await say(pilot, app, "/settings")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.focused)
        app.screen.query_one("#filter", Input).value = "ui.motion"
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: app.animation_level == "none")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not isinstance(app.screen, SettingsScreen))

    assert app.controller.settings.ui.motion == "reduced"
    assert app.controller.options.sources.user_file.read_text() == '[ui]\nmotion = "reduced"\n'


async def test_the_theme_is_picked_and_tried_on_from_the_settings(tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await say(pilot, app, "/settings")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.focused)
        app.screen.query_one("#filter", Input).value = "ui.theme"
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen.focused)
        await pilot.press(*"mono", "enter")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.theme.startswith("mono"))
        await until(pilot, lambda: app.controller.options.sources.user_file.exists())

    assert f'theme = "{app.theme}"' in app.controller.options.sources.user_file.read_text()


async def test_the_context_is_shown_by_key_and_by_command(tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        for begin in (lambda: pilot.press("f8"), lambda: say(pilot, app, "/context")):
            await begin()
            await until(pilot, lambda: isinstance(app.screen, ContextScreen) and app.screen.focused is not None)
            await pilot.press("c")
            await until(pilot, lambda: not isinstance(app.screen, ContextScreen))


@pytest.mark.parametrize(("width", "beside"), [(120, True), (80, False)])
async def test_help_is_next_to_the_conversation_where_there_is_room(tmp_path: Path, width: int, beside: bool):
    app = chat(tmp_path)

    async with app.run_test(size=(width, 30)) as pilot:
        await ready(pilot, app)
        await say(pilot, app, "#help")
        await until(pilot, lambda: len(app.screen_stack) > 1 or app.screen.query(HelpPanel))
        shown = bool(app.screen_stack[0].query(HelpPanel))
        room = app.controller.view.prompt.size.width
        if beside:
            await pilot.press("escape")
            await until(pilot, lambda: not app.screen.query(HelpPanel))

    assert shown is beside
    assert (room < width - 30) is beside


async def test_help_next_to_the_conversation_leaves_a_terminal_that_becomes_narrow_to_the_prompt(tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=(120, 30)) as pilot:
        await ready(pilot, app)
        await say(pilot, app, "#help")
        await until(pilot, lambda: app.screen.query(HelpPanel))
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        narrow = app.controller.view.prompt.size.width
        await pilot.resize_terminal(120, 30)
        await pilot.pause()
        wide = app.controller.view.prompt.size.width

    assert (narrow, wide) == (40, 84)


@pytest.mark.parametrize(("keys_pressed", "approval", "plan"), [("off", "off", False), ("plan", "smart", True)])
async def test_the_mode_is_picked(tmp_path: Path, keys_pressed: str, approval: str, plan: bool):
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        await say(pilot, app, "/mode")
        await until(pilot, lambda: isinstance(app.screen, Picker) and app.screen.focused)
        await pilot.press(*keys_pressed, "enter")
        await until(pilot, lambda: not isinstance(app.screen, Picker))
        await app.workers.wait_for_complete()

        status = app.controller.view.widgets.status.status
        assert (status.approval, status.plan) == (approval, plan)


async def test_a_command_that_cannot_run_stays_in_the_prompt(tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, app)
        app.controller.view.process_input("#load")
        await until(pilot, lambda: app.controller.view.prompt.text == "#load")
