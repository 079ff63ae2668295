"""The theme of the app: the chosen one, one that fits the terminal, or a preview."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cinch_tui.app.theming import BUILTIN_FOLDER, load_theme, theme_names
from cinch_tui.terminal.background import guess
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App
    from textual.theme import Theme

    from cinch_tui.config.paths import Paths

AUTO = "auto"
SHEET = Path(__file__).parent.parent / "styles" / "ansi.tcss"
FEW_COLOURS = (None, "standard")
DUMB = ("linux", "dumb")
"""Terminals that would print the query."""


@dataclass(frozen=True, slots=True)
class TerminalColours:
    """Color support of the terminal, and its background."""

    has_few_colours: bool
    is_dark: bool

    def name(self, chosen: str) -> str:
        """Return the name of the theme to use for the chosen one."""
        if self.has_few_colours:
            return "ansi" if self.is_dark else "ansi-light"
        if chosen == AUTO:
            return "cinch-dark" if self.is_dark else "cinch-light"
        return chosen


class ThemeSwitch:
    """The themes of an app; those in the user's folder take precedence."""

    def __init__(self, app: App[object], chosen: str, paths: Paths, environ: Mapping[str, str]) -> None:
        self._app = app
        self.chosen = chosen
        self._environ = environ
        self.background_file = paths.state / "background.json"
        self._folders = (paths.config / "themes", BUILTIN_FOLDER)
        self._colours = TerminalColours(
            has_few_colours=app.no_color or app.console.color_system in FEW_COLOURS,
            is_dark=guess(environ, self.background_file),
        )
        self._has_sheet = False
        self._changed = self._changes()

    @property
    def asks(self) -> bool:
        """True if the terminal is to be asked for its background color."""
        return (self.chosen == AUTO or self._colours.has_few_colours) and self._environ.get("TERM") not in DUMB

    @property
    def shown(self) -> str:
        """The chosen one, or another that is shown in its place."""
        return self.chosen if self._app.theme == self._colours.name(self.chosen) else self._app.theme

    def initial_theme(self) -> Theme:
        """Return the theme to start with.

        Raises:
            ConfigError: that theme cannot be used.
        """
        # Checked even if another theme is shown, so that a misspelled name is reported.
        if self.chosen != AUTO:
            load_theme(self.chosen, self._folders)
        return self._ready(self._colours.name(self.chosen))

    def names(self) -> tuple[str, ...]:
        return (AUTO, *theme_names(self._folders))

    def choose(self, name: str) -> None:
        """Show this from now on.

        Raises:
            ConfigError: there is no such theme, or it cannot be used.
        """
        if name != AUTO:
            load_theme(name, self._folders)
        self.chosen = name
        self._use(self._colours.name(name))

    def preview(self, name: str) -> None:
        """Show how it looks; one that cannot be used looks like nothing."""
        try:
            self._use(TerminalColours(has_few_colours=self._app.no_color, is_dark=self._colours.is_dark).name(name))
        except ConfigError:
            return

    def end_preview(self) -> None:
        """Show the chosen one again."""
        self._use(self._colours.name(self.chosen))

    def set_background(self, *, dark: bool) -> bool:
        """The terminal says so; whether that changes the theme."""
        before, self._colours = (
            self._colours,
            TerminalColours(has_few_colours=self._colours.has_few_colours, is_dark=dark),
        )
        name = self._colours.name(self.chosen)
        if name == before.name(self.chosen):
            return False
        self._use(name)
        return True

    def reload_if_changed(self) -> None:
        """Reload the theme if a file in the user's theme folder has changed.

        Raises:
            ConfigError: it cannot be used any more; the app looks as it did.
        """
        changed = self._changes()
        if changed != self._changed:
            self._changed = changed
            self._use(self._colours.name(self.chosen))

    def _changes(self) -> frozenset[tuple[str, int]]:
        try:
            with os.scandir(self._folders[0]) as entries:
                return frozenset((entry.name, entry.stat().st_mtime_ns) for entry in entries)
        except OSError:
            return frozenset()

    def _ready(self, name: str) -> Theme:
        theme = load_theme(name, self._folders)
        self._app.register_theme(theme)
        if theme.ansi and not self._has_sheet:
            self._has_sheet = True
            self._app.stylesheet.read(SHEET)
        return theme

    def _use(self, name: str) -> None:
        self._ready(name)
        if self._app.theme == name:
            self._app.refresh_css(animate=False)
        else:
            self._app.theme = name


@runtime_checkable
class Themed(Protocol):
    """An app whose theme can be switched."""

    theme_switch: ThemeSwitch


async def pick_theme(app: App[object], theme_switch: ThemeSwitch) -> str | None:
    """Let the user preview and pick a theme; None if cancelled."""
    from cinch_tui.screens.picker import Item, Picker

    items = [
        Item(name, "light or dark to match the terminal" if name == AUTO else "", name) for name in theme_switch.names()
    ]
    picker = Picker("Choose a theme", items, current=theme_switch.chosen)
    picker.preview = theme_switch.preview
    chosen = await app.push_screen_wait(picker)
    if chosen is None:
        theme_switch.end_preview()
    return chosen
