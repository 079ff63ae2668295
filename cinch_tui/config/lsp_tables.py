"""Tables `[lsp.servers.NAME]`: language servers, in addition to the known ones, or with other settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.named_tables import NamedTable, TableKind
from cinch_tui.config.setting import Setting

if TYPE_CHECKING:
    from tools.lsp.options import LanguageServer

LANGUAGE_SERVERS = "lsp.servers."
"""Prefix of the dotted names."""
MAPPINGS = ("files",)
"""Tables of a server with free keys."""
_held = partial(Setting, guard="held")


class _LspServerSettings(Struct, frozen=True):
    command: Annotated[tuple[str, ...], _held("program and arguments")] = ()
    enabled: Annotated[bool, _held("false: do not use this server")] = True
    languages: Annotated[
        tuple[str, ...], _held("names of its languages; another server for one of them is not started as well")
    ] = ()
    root_markers: Annotated[
        tuple[str, ...], _held('files in the root folder of a project, as names or globs such as "*.sln"')
    ] = ()
    runs_code: Annotated[
        bool, _held("true: it may run code of the project, so it starts only in a folder that you trust")
    ] = True
    options: Annotated[str, _held("initialization options and configuration, as JSON")] = ""


LSP_TABLE = TableKind(LANGUAGE_SERVERS, _LspServerSettings, MAPPINGS)


class LspTable(NamedTable, frozen=True):
    """A table `[lsp.servers.NAME]` of one file."""

    def applied_to(self, server: LanguageServer | None) -> LanguageServer:
        """Return a server with the values of this table.

        Raises:
            ValueError: the options are not an object, or a new server lacks its command or its files.
        """
        from tools.lsp.options import LanguageServer  # few users have such tables

        values: dict[str, object] = {name: value for name, value in self.values.items() if "." not in name}
        values.pop("enabled", None)
        if "options" in values:
            values["options"] = _options(str(values["options"]))
        prefix = f"{MAPPINGS[0]}."
        files = {
            name.removeprefix(prefix): str(value) for name, value in self.values.items() if name.startswith(prefix)
        }
        if server is None:
            server = LanguageServer({}, (), self.name, runs_code=True)
        server = replace(server, **values, files={**server.files, **files})
        if not server.command or not server.files:
            raise ValueError("needs command and files")
        return server


def _options(text: str) -> object:
    try:
        options: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"has options that are not JSON: {error}") from error
    if not isinstance(options, dict):
        raise ValueError("has options that are not a JSON object")
    return options  # pyright: ignore[reportUnknownVariableType]  JSON


class ConfiguredLanguageServers(Struct, frozen=True):
    """Language servers that files name."""

    servers: tuple[LanguageServer, ...] = ()
    """Servers, the strongest first."""
    disabled: tuple[str, ...] = ()
    """Names of servers that are not used."""
    problems: tuple[str, ...] = ()
    """Tables without effect."""


def read_language_servers(
    tables: Iterable[LspTable], plugins: Sequence[LanguageServer] = ()
) -> ConfiguredLanguageServers:
    """Return the servers in the tables of all files, and those of plugins.

    Args:
        tables: The tables, weakest first. Those of untrusted files have no effect.
        plugins: Servers of plugins, which tables may change.
    """
    trusted = [table for table in tables if table.is_trusted]
    if not trusted:
        return ConfiguredLanguageServers(tuple(plugins))
    from tools.lsp.options import known_servers  # few users have such tables

    known = {each.name: each for each in (*known_servers(), *plugins)}
    merged: dict[str, LanguageServer] = {}
    disabled: dict[str, bool] = {}
    problems: list[str] = []
    for table in trusted:
        if "enabled" in table.values:
            disabled[table.name] = not table.values["enabled"]
        below = merged.get(table.name, known.get(table.name))
        if below is None and table.values.keys() == {"enabled"}:
            continue
        try:
            merged[table.name] = table.applied_to(below)
        except ValueError as error:
            problems.append(f"{table.place}: the language server {table.name} {error}")
    servers = (*reversed(merged.values()), *(each for each in plugins if each.name not in merged))
    return ConfiguredLanguageServers(servers, tuple(name for name, off in disabled.items() if off), tuple(problems))
