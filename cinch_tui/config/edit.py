"""Edits of single settings in a configuration file; comments and order are kept."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.config.file import flatten, read_config_file
from cinch_tui.config.names import former_names
from cinch_tui.config.paths import write_private
from cinch_tui.config.settings import Value
from harness.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import Item, Table

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def set_in_file(path: Path, name: str, value: Value) -> None:
    """Set a setting such as `ui.theme` in a file, which is created if it does not exist.

    A former name of the setting is replaced by the current one.

    Raises:
        ConfigError: the file cannot be read or written, or its structure cannot be edited.
    """
    _rewrite(path, name, value, lambda text: with_setting(text, name, value))


def drop_from_file(path: Path, name: str) -> None:
    """Remove a setting from a file, so that its default applies again.

    Raises:
        ConfigError: as `set_in_file`.
    """
    _rewrite(path, name, None, lambda text: without_setting(text, name))


def with_setting(text: str, name: str, value: Value) -> str:
    """Return the text of a file with the setting set to this value."""
    import tomlkit  # slow to load, and few starts edit a file
    from tomlkit.items import SingleKey

    newline = "\r\n" if "\r\n" in text else "\n"
    document = tomlkit.parse(f"{text}{newline}" if text and not text.endswith("\n") else text)
    item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    item.trivia.trail = newline
    for former in former_names(name):
        old = _remove(document, former)
        # An item of the value false is false, too.
        if old is not None:
            item.trivia.comment_ws, item.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    group, _, key = name.rpartition(".")
    if _table(document, group) is None:
        before = document.as_string()
        document = tomlkit.parse(f"{before}{newline if before else ''}[{group}]{newline}")
    table = _table(document, group)
    assert table is not None
    if key in table:
        table[key] = item
    else:
        table.value.body.insert(_position(table, key), (SingleKey(key), item))
    return document.as_string()


def without_setting(text: str, name: str) -> str:
    """Return the text of a file without the setting, under any of its names."""
    import tomlkit

    document = tomlkit.parse(text)
    for each in (name, *former_names(name)):
        _remove(document, each)
    return document.as_string()


def toml_of(value: object) -> str:
    """Return a value as TOML, on one line."""
    import tomlkit

    return tomlkit.item(value).as_string()


def _table(document: TOMLDocument, group: str) -> Table | None:
    """Return the table of a dotted name; None if the file has none."""
    from tomlkit.items import InlineTable, Table

    table: TOMLDocument | Table = document
    for part in group.split("."):
        if part not in table:
            return None
        inner = table[part]
        # An inline table has the same interface.
        if not isinstance(inner, Table | InlineTable):
            raise ConfigError(f"{group} is not a table")
        table = inner  # pyright: ignore[reportAssignmentType] see above
    return table  # pyright: ignore[reportReturnType] the document itself has no name


def _remove(document: TOMLDocument, name: str) -> Item | None:
    from tomlkit.items import Item

    group, _, key = name.rpartition(".")
    table = _table(document, group)
    if table is None or key not in table:
        return None
    item = table.item(key)
    table.remove(key)
    return item if isinstance(item, Item) else None


def _position(table: Table, key: str) -> int:
    """Return the index for a new key: below its commented-out example, else at the top of the table."""
    example = re.compile(rf"\s*#\s*{re.escape(key)}\s*=")
    body = table.value.body
    return next((at + 1 for at, (_, item) in enumerate(body) if example.match(item.as_string())), 0)


def _rewrite(path: Path, name: str, value: Value | None, change: Callable[[str], str]) -> None:
    plain = list(value) if isinstance(value, tuple) else value
    by_hand = "remove it" if plain is None else f"set it to {plain!r}"
    try:
        # A linked file stays where it is.
        # Before Python 3.13, Path.resolve() raises RuntimeError for a link to itself; from 3.13 on it raises nothing.
        real = Path(os.path.realpath(path))
        if real.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        exists = real.exists()
        before = {key: entry.value for key, entry in read_config_file(real).entries.items()} if exists else {}
        text = real.read_bytes().decode() if exists else ""
        changed = _changed(text, change)
        expected = {key: kept for key, kept in before.items() if key not in (name, *former_names(name))}
        expected |= {} if plain is None else {name: plain}
        if changed is None or dict(flatten(tomllib.loads(changed))) != expected:
            raise ConfigError(f"{path}: {name} cannot be changed from here; {by_hand} there")
        # A file without write permission is read-only, also where it could be replaced or root may write it.
        if exists and not (real.stat().st_mode & WRITABLE and os.access(real, os.W_OK)):
            raise ConfigError(
                f"{path} is read-only: {name} cannot be saved there; make it writable, or {by_hand} by hand"
            )
        write_private(real, changed)
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be saved there: {error}") from error


def _changed(text: str, change: Callable[[str], str]) -> str | None:
    from tomlkit.exceptions import TOMLKitError

    try:
        return change(text)
    except (TOMLKitError, ConfigError):
        return None
