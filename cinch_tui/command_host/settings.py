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


async def open_settings(controller: SessionController) -> None:
    """Show them until the person has done with them; to be called in a worker.

    Raises:
        CinchError: there is no agent yet.
    """
    agent = controller.agent

    def take_effect(settings: Settings, touched: frozenset[str]) -> None:
        apply(controller, settings, touched)

    async def theme() -> str | None:
        return await pick_theme(controller.app, theme_switch_of(controller))

    async def model() -> str | None:
        market = ModelCatalog(controller.assembly.keys)
        return await pick_model(controller.app, market, agent.state.model.spec, used_in(agent.history.messages))

    pickers = {"ui.theme": theme, "model.name": model}
    hands = Hands(take_effect, lambda path: _edit(controller, path), pickers, lambda: live(controller))
    await controller.app.push_screen_wait(SettingsScreen(SettingStore(controller.options.sources), hands))


def _edit(controller: SessionController, path: Path) -> None:
    """Open the file where the person writes; it begins as the example, all commented out."""
    try:
        argv = editor_command(controller.settings.ui.editor, os.environ)
        if not argv:
            raise CinchError(f"no editor was found; set $EDITOR, or edit {path} yourself")
        if not path.exists():
            write_private(path, example_text(commented=True))
        with controller.app.suspend():
            status = run_there([*argv, str(path)])
    except (OSError, ValueError, SuspendNotSupported) as error:
        raise CinchError(f"the editor could not be started: {error}; edit {path} yourself") from error
    if status:
        raise CinchError(f"the editor ended with status {status}; {path} is as it left it")
