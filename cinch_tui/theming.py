"""Themes: TOML files with colours and nothing else, each read when it is wanted."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, cast

from textual.color import Color, ColorParseError
from textual.theme import Theme

from harness.errors import ConfigError

BUILTIN_FOLDER = Path(__file__).resolve().parent.parent / "themes"
DEFAULT_THEME = "cinch-dark"

# `secondary` and what follows have no default here: a theme that leaves one to chance is unreadable somewhere.
_COLOURS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_KEYS = {"name", "dark", "variables", *_COLOURS}

Toml: TypeAlias = dict[str, object]


def theme_names(folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> tuple[str, ...]:
    return tuple(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))


def load_theme(name: str, folders: Sequence[Path] = (BUILTIN_FOLDER,)) -> Theme:
    """The theme of that name, from the first folder that has one.

    Raises:
        ConfigError: there is none, or its file says something else than a theme.
    """
    path = next((path for folder in folders if (path := folder / f"{name}.toml").is_file()), None)
    if path is None:
        names = theme_names(folders)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise ConfigError(f"there is no theme {name!r}; {hint}")
    try:
        table: Toml = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return _theme(path, table)


def _theme(path: Path, table: Toml) -> Theme:
    _check_keys(path, table)
    colours = {key: _colour(path, key, table.get(key)) for key in _COLOURS}
    dark = table.get("dark", True)
    if not isinstance(dark, bool):
        raise ConfigError(f"{path}: dark must be true or false")
    return Theme(
        name=path.stem,
        dark=dark,
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
        variables=_variables(path, table.get("variables", {})),
    )


def _check_keys(path: Path, table: Toml) -> None:
    for key in table:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise ConfigError(f"{path}: unknown key {key!r}" + (f"; did you mean {near[0]}?" if near else ""))


def _colour(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f'{path}: {key} must be a colour such as "#5aa9e6"')
    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ConfigError(f"{path}: {key}: {error}") from error
    return value


def _variables(path: Path, table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: variables must be a table")
    # What TOML gives has no type; each value is turned into the text that a style sheet wants.
    return {key: str(value) for key, value in cast("Toml", table).items()}
