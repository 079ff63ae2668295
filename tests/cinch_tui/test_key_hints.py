from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.dialogs import Host, until_listening
from textual.widgets import Static

from cinch_tui.config.layers import Sources
from cinch_tui.config.store import SettingStore
from cinch_tui.keybindings.keymap import set_user_keys
from cinch_tui.screens.question import QuestionScreen
from cinch_tui.screens.settings import SettingsActions, SettingsScreen
from harness.user_requests import Choice, Question

CHANGED = ("question.back", "question.next", "question.write", "settings.open_file", "settings.back")
CHOICES = (Choice("SQLite"), Choice("PostgreSQL"))


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    set_user_keys(dict.fromkeys(CHANGED, "f12"))
    yield
    set_user_keys({})


def of_a_question(folder: Path) -> Host:
    del folder
    return Host(QuestionScreen([Question("Which?", CHOICES), Question("And then?", CHOICES)], grace=0.0))


def of_the_settings(folder: Path) -> Host:
    sources = Sources(folder / "config.toml", folder / "project.toml", {}, folder / "trust.json", {})
    return Host(SettingsScreen(SettingStore(sources), SettingsActions(lambda *_: None, lambda path: None, {}, dict)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (of_a_question, "↑ ↓ and Enter, or a digit · F12 writes another answer · F12 other questions · F12 skips"),
        (of_the_settings, "Enter ← → change · Delete default · F12 file · F12 closes"),
    ],
)
async def test_a_dialog_names_the_keys_of_the_user(tmp_path: Path, make: Callable[[Path], Host], said: str):
    app = make(tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_listening(pilot)

        shown = [str(hint.render()) for hint in app.screen.query("#hint").results(Static)]
        assert said in (*shown, str(app.screen.query_one("#dialog").border_subtitle))
