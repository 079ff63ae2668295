"""Applies changed settings to the chat screen."""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec.structs import replace
from textual.app import App

from cinch_tui.app.themes import Themed, ThemeSwitch
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.controller.chat_session import ChatView
from cinch_tui.terminal.first_picture import delete_saved_screens
from cinch_tui.widgets.status_bar import Arrangement
from harness.errors import CinchError

FRAME_CELLS = 10
"""Columns of the screen that frames and scroll bars take beside a diff."""
NEVER = 1_000_000


class SettingEffects:
    """Subscribe `apply` to the changes of settings."""

    def __init__(self, app: App[object], view: ChatView, options: Options) -> None:
        self._app = app
        self._view = view
        self._options = options
        self._effects: dict[str, Callable[[Settings], None]] = {
            "ui.theme": self._theme,
            "ui.motion": self._status,
            "ui.status": self._status,
            "ui.status_command": self._status_command,
            "ui.timestamps": self._timestamps,
            "ui.vim": self._vim,
            "ui.side_by_side_min_columns": self.side_by_side,
            "ui.show_thinking": lambda settings: view.widgets.show_thinking(shown=settings.ui.show_thinking),
        }

    @property
    def names(self) -> Set[str]:
        """Names of the settings that have an effect here."""
        return self._effects.keys()

    def apply(self, settings: Settings, changed: Set[str]) -> None:
        for name in changed & self._effects.keys():
            self._effects[name](settings)

    def _theme(self, settings: Settings) -> None:
        theme_switch_of(self._app).choose(settings.ui.theme)
        delete_saved_screens(self._options)
        self._view.keep_picture()

    def _status(self, settings: Settings) -> None:
        ui = settings.ui
        self._app.animation_level = "full" if ui.motion == "full" else "none"
        self._view.widgets.status.arrangement = Arrangement(ui.status, moves=ui.motion == "full")

    def _status_command(self, settings: Settings) -> None:
        """Remove the output of the previous command; the new one runs after the next turn."""
        self._view.widgets.set_status(command_line="")

    def _timestamps(self, settings: Settings) -> None:
        transcript = self._view.widgets.transcript
        transcript.options = replace(transcript.options, stamps=settings.ui.timestamps)

    def _vim(self, settings: Settings) -> None:
        self._view.prompt.field.uses_vim = settings.ui.vim

    def side_by_side(self, settings: Settings) -> None:
        """Show diffs side by side from the configured width on."""
        columns = settings.ui.side_by_side_min_columns
        cells = max(1, columns - FRAME_CELLS) if columns else NEVER
        rule = f"App .diff--split {{ min-width: {cells}; }}"
        self._app.stylesheet.add_source(rule, read_from=("ui.side_by_side_min_columns", ""))
        self._app.stylesheet.reparse()
        self._app.refresh_css(animate=False)


def theme_switch_of(app: App[object]) -> ThemeSwitch:
    """Return the themes of the app.

    Raises:
        CinchError: The app has none.
    """
    if not isinstance(app, Themed):
        raise CinchError("this app has no themes")
    return app.theme_switch
