"""Opens the settings for a person, with what the screen needs of the app: its themes, its models, its editor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from cinch_tui.app.theme_switch import pick_theme
from cinch_tui.command_host.setting_effects import apply, live, theme_switch_of
from cinch_tui.config.private_file import write_private
from cinch_tui.config.store import SettingStore
from cinch_tui.config.text import example_text
from cinch_tui.models.model_catalog import ModelCatalog, pick_model, used_in
from cinch_tui.screens.settings import Hands, SettingsScreen
from cinch_tui.terminal.editor import editor_command, run_there
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.config.settings import Settings
    from cinch_tui.controller.controller import SessionController


async def open_settings(desk: SessionController) -> None:
    """Show them until the person has done with them; to be called in a worker.

    Raises:
        CinchError: there is no agent yet.
    """
    agent = desk.agent

    def take_effect(settings: Settings, touched: frozenset[str]) -> None:
        apply(desk, settings, touched)

    async def theme() -> str | None:
        return await pick_theme(desk.app, theme_switch_of(desk))

    async def model() -> str | None:
        market = ModelCatalog(desk.assembly.keys)
        return await pick_model(desk.app, market, agent.state.model.spec, used_in(agent.history.messages))

    pickers = {"ui.theme": theme, "model.name": model}
    hands = Hands(take_effect, lambda path: _edit(desk, path), pickers, lambda: live(desk))
    await desk.app.push_screen_wait(SettingsScreen(SettingStore(desk.options.sources), hands))


def _edit(desk: SessionController, path: Path) -> None:
    """Open the file where the person writes; it begins as the example, all commented out."""
    try:
        argv = editor_command(desk.settings.ui.editor, os.environ)
        if not argv:
            raise CinchError(f"no editor was found; set $EDITOR, or edit {path} yourself")
        if not path.exists():
            write_private(path, example_text(commented=True))
        with desk.app.suspend():
            status = run_there([*argv, str(path)])
    except (OSError, ValueError, SuspendNotSupported) as error:
        raise CinchError(f"the editor could not be started: {error}; edit {path} yourself") from error
    if status:
        raise CinchError(f"the editor ended with status {status}; {path} is as it left it")
