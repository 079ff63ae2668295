"""Edits of single settings in a configuration file; comments and order are kept."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.config.file import TABLE, flatten, plain_name, read_config_file
from cinch_tui.config.names import former_names
from cinch_tui.config.paths import write_private
from cinch_tui.config.setting import Value
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
    _rewrite(path, name, {name: value}, lambda text: with_setting(text, name, value))


def drop_from_file(path: Path, name: str) -> None:
    """Remove a setting from a file, so that its default applies again.

    Raises:
        ConfigError: as `set_in_file`.
    """
    _rewrite(path, name, {}, lambda text: without_setting(text, name))


def add_table_to_file(path: Path, name: str, values: Mapping[str, Value]) -> None:
    """Add a table such as `mcp.servers.github` at the end of a file; it takes the place of one of the same name.

    Raises:
        ConfigError: as `set_in_file`.
    """
    written = {f"{name}.{key}": value for key, value in values.items()}
    _rewrite(path, name, written, lambda text: with_table(_without_table(text, name), name, values))


def drop_table_from_file(path: Path, name: str) -> None:
    """Remove a table with its subtables from a file.

    Raises:
        ConfigError: as `set_in_file`.
    """
    _rewrite(path, name, {}, lambda text: _without_table(text, name))


def with_table(text: str, name: str, values: Mapping[str, Value]) -> str:
    """Return the text of a file with a new table at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{_header(name)}]", *(f"{_key(key)} = {toml_of(value)}" for key, value in values.items())]
    before = f"{text.rstrip()}{newline}{newline}" if text.strip() else ""
    return f"{before}{newline.join(lines)}{newline}"


def _header(name: str) -> str:
    """Return the name of a table as TOML; a part may need quotes."""
    from tomlkit import key

    return ".".join(key(part).as_string() for part in name.split("."))


def _key(name: str) -> str:
    """Return a key of a server's table as TOML: the name of an environment variable or header may need quotes."""
    from tomlkit import key  # slow to load, and few starts edit a file

    table, _, inner = name.partition(".")
    return f"{table}.{key(inner).as_string()}" if inner else table


def _without_table(text: str, name: str) -> str:
    """Return the text of a file without a table; a comment before the next table stays."""
    kept: list[str] = []
    pending: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        header = TABLE.match(line)
        if header:
            table = plain_name(header[1])
            is_inside = table == name or table.startswith(f"{name}.")
            kept += pending
            pending = []
        if not is_inside:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)
        else:
            pending = []
    remaining = "".join(kept)
    # The table may be an inline table, too.
    return without_setting(remaining, name) if remaining == text else remaining


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
        document = tomlkit.parse(f"{before}{newline if before else ''}[{_header(group)}]{newline}")
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

    plain: object = list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] any items
    return tomlkit.item(plain).as_string()  # pyright: ignore[reportUnknownArgumentType] as above


def _table(document: TOMLDocument, group: str) -> Table | None:
    """Return the table of a dotted name; None if the file has none."""
    from tomlkit.container import OutOfOrderTableProxy
    from tomlkit.items import InlineTable, Table

    table: TOMLDocument | Table = document
    for part in group.split("."):
        if part not in table:
            return None
        inner = table[part]
        # An inline table has the same interface, as has one in several places of the file.
        if not isinstance(inner, Table | InlineTable | OutOfOrderTableProxy):
            raise ConfigError(f"{group} is not a table")
        table = inner  # pyright: ignore[reportAssignmentType] see above
    return table  # pyright: ignore[reportReturnType] the document itself has no name


def _remove(document: TOMLDocument, name: str) -> Item | None:
    from tomlkit.items import Item

    group, _, key = name.rpartition(".")
    table = _table(document, group)
    if table is None or key not in table:
        return None
    # Unlike `item`, indexing returns a plain bool; a table in several places of the file has no `item`.
    item = table.item(key) if hasattr(table, "item") else table[key]
    del table[key]
    return item if isinstance(item, Item) else None


def _position(table: Table, key: str) -> int:
    """Return the index for a new key: below its commented-out example, else at the top of the table."""
    example = re.compile(rf"\s*#\s*{re.escape(key)}\s*=")
    body = table.value.body
    return next((at + 1 for at, (_, item) in enumerate(body) if example.match(item.as_string())), 0)


def _rewrite(path: Path, name: str, values: Mapping[str, Value], change: Callable[[str], str]) -> None:
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    by_hand = f"set it to {plain[name]!r}" if name in plain else "write the table" if plain else "remove it"
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
        replaced = {name, *former_names(name)}
        expected = {k: kept for k, kept in before.items() if k not in replaced and not k.startswith(f"{name}.")}
        if changed is None or _values(changed) != expected | plain:
            raise ConfigError(f"{path}: {name} cannot be changed from here; {by_hand} there")
        # A file without write permission is read-only, also where it could be replaced or root may write it.
        if exists and not (real.stat().st_mode & WRITABLE and os.access(real, os.W_OK)):
            raise ConfigError(
                f"{path} is read-only: {name} cannot be saved there; make it writable, or {by_hand} by hand"
            )
        write_private(real, changed)
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be saved there: {error}") from error


def _values(text: str) -> dict[str, object] | None:
    try:
        return dict(flatten(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        return None


def _changed(text: str, change: Callable[[str], str]) -> str | None:
    from tomlkit.exceptions import TOMLKitError

    try:
        return change(text)
    except (TOMLKitError, ConfigError):
        return None
