"""Themes: TOML files with colours and nothing else, each read when it is wanted."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, cast

from textual.color import Color, ColorParseError
from textual.theme import Theme

from cinch_tui.fuzzy_match import did_you_mean
from harness.errors import ConfigError, NotAFile
from harness.workspace.disk import read_small_text

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

LARGEST = 256 * 1024
"""Bytes of a theme."""

Toml: TypeAlias = dict[str, object]


def theme_names(folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> tuple[str, ...]:
    return tuple(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))


def load_theme(name: str, folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> Theme:
    """The theme of that name, from the first folder that has one.

    Raises:
        ConfigError: there is none, or its file says something else than a theme.
    """
    path = _find(name, folders, "")
    return _theme(path, _whole(path, folders, ()))


def _find(name: str, folders: Sequence[Path], asked_by: str) -> Path:
    path = next((path for folder in folders if (path := folder / f"{name}.toml").is_file()), None)
    if path is None:
        raise ConfigError(f"{asked_by}unknown theme {name!r}{_suggestion(name, theme_names(folders))}")
    return path


def _suggestion(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known, otherwise=f"; available: {', '.join(known)}")


def _whole(path: Path, folders: Sequence[Path], derived: tuple[Path, ...]) -> Toml:
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
    inherited = _whole(below, folders, (path, *derived))
    variables = {**_table(below, inherited), **_table(path, table)}
    return {**inherited, **table, "variables": variables}


def _read(path: Path) -> Toml:
    try:
        table: Toml = tomllib.loads(read_small_text(path, LARGEST))
    except (OSError, NotAFile, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"{path}: unknown key {key!r}{_suggestion(key, sorted(_KEYS))}")
    # Checked here, where it is known which file says it.
    for key in _COLOURS:
        if key in table:
            _colour(path, key, table[key])
    return table


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
        primary=colours["primary"],
        secondary=colours["secondary"],
        accent=colours["accent"],
        foreground=colours["foreground"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["panel"],
        success=colours["success"],
        warning=colours["warning"],
        error=colours["error"],
        variables={**own, **muted, **_table(path, table)},
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
