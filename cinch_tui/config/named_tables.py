"""Tables that the user names: `[mcp.servers.NAME]`, `[openapi.apis.NAME]` and `[lsp.servers.NAME]`."""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.names import SettingKey, keys_of
from cinch_tui.config.setting import NEXT_START, Value
from cinch_tui.fuzzy_match import did_you_mean
from harness.structs import Redacted

NAMED_TABLES = ("mcp.servers.", "openapi.apis.", "lsp.servers.", "hooks.")
"""Prefixes of dotted names that are not settings: those of named tables and of hooks."""


class TableKind(Struct, frozen=True):
    """Kind of table, with its keys."""

    prefix: str
    """Prefix of the dotted names."""
    group: type[Struct]
    """Struct with the keys, whose fields are annotated as settings."""
    mappings: tuple[str, ...]
    """Tables inside it with free keys and text values."""

    @property
    def keys(self) -> dict[str, SettingKey]:
        """Keys by their name in the table."""
        return _keys_of(self.group)

    def checked(self, name: str, value: object) -> Value:
        """Return the value of a dotted name such as `mcp.servers.github.command`.

        Raises:
            ValueError: the key does not exist, or the value is invalid; the text names both.
        """
        table, _, rest = name.removeprefix(self.prefix).partition(".")
        key = self._key(name, rest)
        if key is None:
            known = (f"{self.prefix}{table}.{each}" for each in (*self.keys, *self.mappings))
            raise ValueError(f"unknown key {name!r}{did_you_mean(name, known)}")
        try:
            return key.check(value)
        except ValueError as error:
            raise ValueError(f"{name} {error}, not {value!r}") from error

    def _key(self, name: str, rest: str) -> SettingKey | None:
        mapping, _, inner = rest.partition(".")
        if inner and mapping in self.mappings:
            return SettingKey(name, str, "", "", "held", NEXT_START)
        key = self.keys.get(rest)
        return replace(key, name=name) if key else None


@cache
def _keys_of(group: type[Struct]) -> dict[str, SettingKey]:
    return {key.name.removeprefix("."): key for key in keys_of("", group, NEXT_START)}


class NamedTable(Redacted, frozen=True):
    """A table of one file that the user named."""

    _hidden = ("values",)

    name: str
    """Name of the server or API."""
    values: dict[str, Value]
    """Values by their name in the table, with `${VAR}` not expanded."""
    source: str
    """Path of the file."""
    line: int
    """Line of its first value."""
    layer: str
    """Layer of the file."""
    is_trusted: bool
    """False if the table has no effect, since its file is not trusted."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.source}, line {self.line}"
