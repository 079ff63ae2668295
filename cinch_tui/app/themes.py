"""Themes: TOML files with colors, each read when it is needed, and the switch between them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace
from textual.color import Color, ColorParseError
from textual.theme import Theme

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.terminal.background import guess
from harness.errors import ConfigError, NotAFile
from harness.workspace.disk import read_small_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App

    from cinch_tui.config.paths import Paths
    from cinch_tui.installed_packages import Toml
    from harness.entry_points import PackageObjects

BUILTIN_FOLDER = Path(__file__).resolve().parents[2] / "themes"
DEFAULT_THEME = "cinch-dark"
MUTED = "75%"
"""Opacity of less important text, which has to remain readable."""

# `secondary` and what follows have no default here: a theme that leaves one to chance is unreadable somewhere.
_COLOURS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_SWITCHES = ("dark", "ansi")
_KEYS = {"based_on", "variables", *_SWITCHES, *_COLOURS}

MAX_THEME_BYTES = 256 * 1024
"""Bytes of a theme."""

PACKAGES = Path("theme of a package")
"""Parent of the paths that name themes of packages."""


def theme_names(folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> tuple[str, ...]:
    return tuple(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))


def load_theme(name: str, folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> Theme:
    """Return the theme of that name from the first folder that contains it, else from an installed package.

    Raises:
        ConfigError: The theme does not exist or is invalid.
    """
    path = _find(name, folders, "")
    try:
        return _theme(path, _resolved_table(path, folders, ()))
    except ConfigError as error:
        if path.parent != PACKAGES:
            raise
        raise _packages().unusable(name, str(error).removeprefix(f"{path}: ")) from error


def _find(name: str, folders: Sequence[Path], asked_by: str) -> Path:
    """Return the file of a theme; for one of a package, a path that only names it in errors."""
    path = next((path for folder in folders if (path := folder / f"{name}.toml").is_file()), None)
    if path is not None:
        return path
    packages = _packages()
    found = packages.get(name)
    if found is None:
        known = [*theme_names(folders), *packages.names]
        raise ConfigError(f"{asked_by}unknown theme {name!r}{_suggestion(name, known)}")
    if isinstance(found, ConfigError):
        raise ConfigError(str(found))
    return PACKAGES / name


@cache
def _packages() -> PackageObjects[Toml]:
    from cinch_tui.installed_packages import package_themes  # not before the first paint

    return package_themes()


def _suggestion(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known, otherwise=f"; available: {', '.join(known)}")


def _resolved_table(path: Path, folders: Sequence[Path], derived: tuple[Path, ...]) -> Toml:
    """Return the table of a file merged over that of the theme it is based on."""
    table = _read(path)
    base = table.pop("based_on", None)
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f'{path}: based_on must be the name of a theme, such as "{DEFAULT_THEME}"')
    # A user's theme may be based on the built-in theme of the same name.
    elsewhere = [folder for folder in folders if base != path.stem or folder != path.parent]
    below = _find(base, elsewhere, f"{path}: based_on: ")
    if below in (path, *derived):
        raise ConfigError(f"{path}: based_on: {base!r} is itself based on this theme")
    inherited = _resolved_table(below, folders, (path, *derived))
    variables = {**_table(below, inherited), **_table(path, table)}
    return {**inherited, **table, "variables": variables}


def _read(path: Path) -> Toml:
    table = _of_package(path.name) if path.parent == PACKAGES else _of_file(path)
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"{path}: unknown key {key!r}{_suggestion(key, sorted(_KEYS))}")
    # Checked here, where it is known which file says it.
    for key in _COLOURS:
        if key in table:
            _colour(path, key, table[key])
    return table


def _of_file(path: Path) -> Toml:
    try:
        return tomllib.loads(read_small_text(path, MAX_THEME_BYTES))
    except (OSError, NotAFile, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _of_package(name: str) -> Toml:
    found = _packages().get(name)
    return dict(found) if isinstance(found, dict) else {}


def _theme(path: Path, table: Toml) -> Theme:
    colours = {key: _colour(path, key, table.get(key)) for key in _COLOURS}
    dark, ansi = (_switch(path, key, table.get(key, default)) for key, default in (("dark", True), ("ansi", False)))
    # Textual's own style sheets ask for the first two where a theme is native.
    own = {"ansi-background": colours["background"], "ansi-foreground": colours["foreground"]} if ansi else {}
    muted = {"foreground-muted": f"{colours['foreground']} {MUTED}"}
    theme = Theme(
        name=path.stem,
        dark=dark,
        ansi=ansi,
        variables={**own, **muted, **_table(path, table)},
        **colours,  # pyright: ignore[reportArgumentType] the other parameters are no colours
    )
    _check_variables(path, theme)
    return theme


def _check_variables(path: Path, theme: Theme) -> None:
    """A style sheet would ignore a name that it does not know, and fail on a value that is no colour."""
    bare = Theme(name="", primary=theme.primary, ansi=theme.ansi).to_color_system().generate()
    for key, value in theme.variables.items():
        if key not in bare and not key.startswith("ansi-"):
            raise ConfigError(f"{path}: variables: unknown name {key!r}{_suggestion(key, sorted(bare))}")
        if not key.endswith("-style"):
            _colour(path, f"variables: {key}", value.partition(" ")[0])


def _colour(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f'{path}: {key} must be a colour such as "#5aa9e6"')
    if value in ("auto", "transparent"):
        return value
    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ConfigError(f"{path}: {key}: {error}") from error
    return value


def _switch(path: Path, key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{path}: {key} must be true or false")
    return value


def _table(path: Path, table: Toml) -> dict[str, str]:
    variables = table.get("variables", {})
    if not isinstance(variables, dict):
        raise ConfigError(f"{path}: variables must be a table")
    # What TOML gives has no type; each value is turned into the text that a style sheet wants.
    return {key: str(value) for key, value in cast("Toml", variables).items()}


AUTO = "auto"
SHEET = Path(__file__).parent.parent / "styles" / "ansi.tcss"
MONO = ("mono-white", "mono-black")
FEW_COLOURS = (None, "standard")
DUMB = ("linux", "dumb")
"""Terminals that would print the query."""


class TerminalColours(Struct, frozen=True):
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
        self.problem = ""
        """The reason why the chosen theme, one of a package, is not used at the start; empty if it is."""
        self._environ = environ
        self.background_file = paths.state / "background.json"
        self._folders = (paths.config / "themes", BUILTIN_FOLDER)
        self._colours = TerminalColours(
            has_few_colours=app.no_color or app.console.color_system in FEW_COLOURS,
            is_dark=guess(environ, self.background_file),
        )
        self._has_sheet = False
        self._usual = AUTO
        """The theme before `next_mono` left it."""
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
            try:
                load_theme(self.chosen, self._folders)
            except ConfigError as error:
                # A package may have been updated or disabled.
                if _packages().get(self.chosen) is None:
                    raise
                self.chosen, self.problem = AUTO, str(error)
        return self._ready(self._colours.name(self.chosen))

    def names(self) -> tuple[str, ...]:
        return (AUTO, *sorted({*theme_names(self._folders), *_packages().names}))

    def choose(self, name: str) -> None:
        """Show this from now on.

        Raises:
            ConfigError: there is no such theme, or it cannot be used.
        """
        if name != AUTO:
            load_theme(name, self._folders)
        self.chosen = name
        self._use(self._colours.name(name))

    def next_mono(self) -> str:
        """Switch between the user's theme, white and black, without saving it; return the name of the next one.

        Raises:
            ConfigError: it cannot be used.
        """
        if self.chosen not in MONO:
            self._usual = self.chosen
        names = (self._usual, *MONO)
        self.choose(names[(names.index(self.chosen) + 1) % len(names)])
        return self.chosen

    def preview(self, name: str) -> None:
        """Show how it looks; one that cannot be used looks like nothing."""
        with suppress(ConfigError):
            self._use(replace(self._colours, has_few_colours=self._app.no_color).name(name))

    def end_preview(self) -> None:
        """Show the chosen one again."""
        self._use(self._colours.name(self.chosen))

    def set_background(self, *, dark: bool) -> bool:
        """Adapt to the background that the terminal reports; return True if the theme changes."""
        before, self._colours = self._colours.name(self.chosen), replace(self._colours, is_dark=dark)
        changes = self._colours.name(self.chosen) != before
        if changes:
            self._use(self._colours.name(self.chosen))
        return changes

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
