"""Opens the settings screen, with the themes, models and editor of the app."""

from __future__ import annotations

import os
from pathlib import Path

from cinch_tui.app.themes import pick_theme
from cinch_tui.config.paths import write_private
from cinch_tui.config.store import SettingStore, example_text
from cinch_tui.controller.controller import SessionController
from cinch_tui.models.model_catalog import ModelCatalog, pick_model, used_in
from cinch_tui.reports.summaries import agent_settings
from cinch_tui.screens.setting_effects import theme_switch_of
from cinch_tui.screens.settings import SettingsActions, SettingsScreen
from cinch_tui.terminal.external_programs import editor_command, run_in_terminal
from harness.errors import CinchError


def live_settings(controller: SessionController) -> dict[str, object]:
    """Return the values in effect in this session, which may differ from the settings, by name."""
    view = controller.view
    return {
        **agent_settings(controller.agent),
        "ui.theme": theme_switch_of(controller.app).shown,
        "ui.timestamps": view.widgets.transcript.options.stamps,
        "ui.vim": view.prompt.field.uses_vim,
        "ui.show_thinking": view.widgets.shows_thinking,
    }


async def open_settings(controller: SessionController) -> None:
    """Show the settings until the user closes them; to be called in a worker.

    Raises:
        CinchError: There is no agent yet.
    """
    agent = controller.agent

    async def theme() -> str | None:
        return await pick_theme(controller.app, theme_switch_of(controller.app))

    async def model() -> str | None:
        catalog = ModelCatalog(controller.assembly.keys)
        return await pick_model(controller.app, catalog, agent.state.model.spec, used_in(agent.history.outline))

    pickers = {"ui.theme": theme, "model.name": model}
    hands = SettingsActions(
        controller.change_settings, lambda path: _edit(controller, path), pickers, lambda: live_settings(controller)
    )
    await controller.app.push_screen_wait(SettingsScreen(SettingStore(controller.options.sources), hands))


def _edit(controller: SessionController, path: Path) -> None:
    """Open the file in the user's editor; a new one begins as the example, commented out."""
    try:
        argv = editor_command(controller.settings.ui.editor, os.environ)
        if not argv:
            raise CinchError(f"no editor was found; set $EDITOR, or edit {path} yourself")
        if not path.exists():
            write_private(path, example_text(commented=True))
        with controller.app.suspend():
            status = run_in_terminal([*argv, str(path)])
    except (OSError, ValueError) as error:
        raise CinchError(f"the editor could not be started: {error}; edit {path} yourself") from error
    if status:
        raise CinchError(f"the editor exited with status {status}; check {path}")
