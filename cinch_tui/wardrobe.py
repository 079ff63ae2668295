"""Which theme the app wears: the chosen one, one that suits the terminal, or another that is being tried on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cinch_tui.terminal.background import guess
from cinch_tui.theming import BUILTIN_FOLDER, load_theme, theme_names
from harness.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App
    from textual.theme import Theme

    from cinch_tui.paths import Paths

AUTO = "auto"
SHEET = Path(__file__).parent / "styles" / "ansi.tcss"
FEW_COLOURS = (None, "standard")
DUMB = ("linux", "dumb")
"""Terminals that print what they are asked."""


@dataclass(frozen=True, slots=True)
class Suits:
    """What a terminal can show."""

    has_few_colours: bool
    is_dark: bool

    def name(self, chosen: str) -> str:
        """The theme for what a person chose."""
        if self.has_few_colours:
            return "ansi" if self.is_dark else "ansi-light"
        if chosen == AUTO:
            return "cinch-dark" if self.is_dark else "cinch-light"
        return chosen


class Wardrobe:
    """The themes of one app; those in the person's own folder come first."""

    def __init__(self, app: App[object], chosen: str, paths: Paths, environ: Mapping[str, str]) -> None:
        self._app = app
        self.chosen = chosen
        self._environ = environ
        self.background_file = paths.state / "background.json"
        self._folders = (paths.config / "themes", BUILTIN_FOLDER)
        self._suits = Suits(
            has_few_colours=app.no_color or app.console.color_system in FEW_COLOURS,
            is_dark=guess(environ, self.background_file),
        )
        self._has_sheet = False
        self._changed = self._changes()

    @property
    def asks(self) -> bool:
        """Whether it matters what the terminal says of itself, and it can be asked."""
        return (self.chosen == AUTO or self._suits.has_few_colours) and self._environ.get("TERM") not in DUMB

    def first(self) -> Theme:
        """What the app starts with.

        Raises:
            ConfigError: that theme cannot be used.
        """
        # Said even where another is worn: a mistake in a name is not the terminal's.
        if self.chosen != AUTO:
            load_theme(self.chosen, self._folders)
        return self._ready(self._suits.name(self.chosen))

    def names(self) -> tuple[str, ...]:
        return (AUTO, *theme_names(self._folders))

    def choose(self, name: str) -> None:
        """Wear this from now on.

        Raises:
            ConfigError: there is no such theme, or it cannot be used.
        """
        if name != AUTO:
            load_theme(name, self._folders)
        self.chosen = name
        self._wear(self._suits.name(name))

    def try_on(self, name: str) -> None:
        """Show how it looks; one that cannot be used looks like nothing."""
        try:
            self._wear(Suits(has_few_colours=self._app.no_color, is_dark=self._suits.is_dark).name(name))
        except ConfigError:
            return

    def put_back(self) -> None:
        """End trying on."""
        self._wear(self._suits.name(self.chosen))

    def background_is(self, *, dark: bool) -> bool:
        """The terminal says so; whether that changes what the app wears."""
        before, self._suits = self._suits, Suits(has_few_colours=self._suits.has_few_colours, is_dark=dark)
        name = self._suits.name(self.chosen)
        if name == before.name(self.chosen):
            return False
        self._wear(name)
        return True

    def look_again(self) -> None:
        """Wear the theme as its file is now, where one in the person's folder has changed.

        Raises:
            ConfigError: it cannot be used any more; the app looks as it did.
        """
        changed = self._changes()
        if changed != self._changed:
            self._changed = changed
            self._wear(self._suits.name(self.chosen))

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

    def _wear(self, name: str) -> None:
        self._ready(name)
        if self._app.theme == name:
            self._app.refresh_css(animate=False)
        else:
            self._app.theme = name


@runtime_checkable
class Dressed(Protocol):
    """An app that wears themes."""

    wardrobe: Wardrobe


async def pick_theme(app: App[object], wardrobe: Wardrobe) -> str | None:
    """Let the person try on and pick; None when they do not."""
    from cinch_tui.screens.picker import Item, Picker

    items = [Item(name, "light or dark as the terminal" if name == AUTO else "", name) for name in wardrobe.names()]
    picker = Picker("Which colours?", items, current=wardrobe.chosen)
    picker.preview = wardrobe.try_on
    chosen = await app.push_screen_wait(picker)
    if chosen is None:
        wardrobe.put_back()
    return chosen
