from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from textual.events import AppFocus

from cinch_tui.app.themes import TerminalColours
from cinch_tui.config.paths import find_paths
from cinch_tui.screens.picker import Picker
from cinch_tui.terminal.background import TerminalBackground
from harness.errors import ConfigError

SIZE = (80, 24)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    folder = find_paths(os.environ).config / "themes"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("terminal", "chosen", "name"),
    [
        (TerminalColours(has_few_colours=False, is_dark=True), "auto", "cinch-dark"),
        (TerminalColours(has_few_colours=False, is_dark=False), "auto", "cinch-light"),
        (TerminalColours(has_few_colours=False, is_dark=False), "mono-white", "mono-white"),
        (TerminalColours(has_few_colours=True, is_dark=True), "mono-white", "ansi"),
        (TerminalColours(has_few_colours=True, is_dark=False), "auto", "ansi-light"),
    ],
)
def test_theme_fits_the_terminal(terminal: TerminalColours, chosen: str, name: str):
    assert terminal.name(chosen) == name


async def test_app_turns_light_with_its_terminal(own: Path, tmp_path: Path):
    app = chat(tmp_path)

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        before = app.theme
        app.post_message(TerminalBackground(dark=False))
        await until(pilot, lambda: app.theme == "cinch-light")

    assert before == "cinch-dark"
    assert chat(tmp_path).theme == "cinch-light"


async def test_chosen_theme_ignores_the_terminal_background(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CINCH_UI_THEME", "solarized-dark")
    app = chat(tmp_path)

    async with app.run_test(size=SIZE) as pilot:
        app.post_message(TerminalBackground(dark=False))
        await pilot.pause()

    assert app.theme == "solarized-dark"
    assert "\x1b]11" not in app.enter_sequences


def test_unknown_theme_stops_the_start(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CINCH_UI_THEME", "cinch-drak")
    monkeypatch.setenv("NO_COLOR", "1")

    with pytest.raises(ConfigError, match="did you mean 'cinch-dark'"):
        chat(tmp_path)


async def test_edited_theme_is_shown_when_the_window_has_the_focus_again(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (own / "mine.toml").write_text('based_on = "cinch-dark"\nbackground = "#101010"')
    monkeypatch.setenv("CINCH_UI_THEME", "mine")
    app = chat(tmp_path)

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        (own / "mine.toml").write_text('based_on = "cinch-dark"\nbackground = "#202020"')
        app.post_message(AppFocus())
        await until(pilot, lambda: app.current_theme.background == "#202020")
        await until(pilot, lambda: app.screen.query_one("Transcript").styles.background.hex == "#202020")

        (own / "mine.toml").write_text('based_on = "cinch-dark"\nbackgrund = "#303030"')
        app.post_message(AppFocus())
        await until(pilot, lambda: app._notifications)

    assert app.current_theme.background == "#202020"
    assert "did you mean 'background'" in next(iter(app._notifications)).message


async def test_edited_theme_is_shown_at_the_next_key_without_focus_reports(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (own / "mine.toml").write_text('based_on = "cinch-dark"\nbackground = "#101010"')
    monkeypatch.setenv("CINCH_UI_THEME", "mine")
    app = chat(tmp_path)

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        (own / "mine.toml").write_text('based_on = "cinch-dark"\nbackground = "#202020"')
        await pilot.press("q")
        await until(pilot, lambda: app.current_theme.background == "#202020")

        assert app.controller.view.prompt.text == "q"


async def test_theme_is_previewed_put_back_and_kept(own: Path, tmp_path: Path):
    config = find_paths(os.environ).config_file
    config.write_text("# mine\n[ui]\nshow_thinking = false  # quiet\n")
    app = chat(tmp_path)

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot, app)
        await _pick(pilot, "/theme", "high")
        await until(pilot, lambda: app.theme == "high-contrast")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "cinch-dark")
        await _pick(pilot, "/theme", "high")
        await pilot.press("enter")
        await until(pilot, lambda: "high" in config.read_text())

    assert app.theme == "high-contrast"
    assert config.read_text() == '# mine\n[ui]\ntheme = "high-contrast"\nshow_thinking = false  # quiet\n'


async def _pick(pilot, command: str, filtered: str) -> None:
    await pilot.press(*"/theme", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
    await pilot.press(*filtered)
