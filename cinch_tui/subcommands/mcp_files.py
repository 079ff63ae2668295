"""Files with MCP servers, as `cinch mcp` reads and changes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from cinch_tui.cli.start import config_sources
from cinch_tui.config.edit import add_table_to_file, drop_table_from_file, set_in_file
from cinch_tui.config.file import read_config_file
from cinch_tui.config.layers import load_config, must_be_read
from cinch_tui.config.options import Options
from cinch_tui.config.paths import PROJECT_FOLDER, find_paths, write_private
from cinch_tui.config.server_keys import SERVERS, ServerTable, table_of
from cinch_tui.config.setting import Value
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.mcp_servers import ConfiguredServers, InvalidServer, read_servers
from cinch_tui.print_mode.output import Output
from cinch_tui.trust.inventory import inventory, trust_root
from cinch_tui.trust.store import TrustStore
from harness.errors import ConfigError
from tools.mcp.server_config import McpServer

Scope: TypeAlias = Literal["user", "project", "local"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_LAYERS: Mapping[Scope, str] = {"user": "file", "project": "project", "local": "local"}
_NAMES: Mapping[Scope, str] = {"project": "config.toml", "local": "config.local.toml"}


class ServerFiles(Struct, frozen=True):
    """The files of one start, and the output of the command."""

    options: Options
    """Options with the servers of the configuration."""
    out: Output
    """Standard output."""

    @property
    def configured(self) -> ConfiguredServers:
        """All servers."""
        return read_servers(self.options)

    @property
    def names(self) -> list[str]:
        """Names of all servers, also of those without effect."""
        tables = (table.name for table in self.options.servers)
        return list(dict.fromkeys((*(each.name for each in self.all_servers), *tables)))

    @property
    def all_servers(self) -> list[McpServer]:
        """All servers, also those without effect."""
        found = self.configured
        return [*found.servers, *(each.server for each in found.invalid), *found.untrusted]

    def path(self, scope: Scope) -> Path:
        """Return the file of a scope, whether it exists or not."""
        sources = self.options.sources
        existing = {"user": sources.user_file, "project": sources.project_file, "local": sources.local_file}[scope]
        return existing or trust_root(self.options.cwd) / PROJECT_FOLDER / _NAMES[scope]

    def find(self, name: str) -> McpServer:
        """Return a server that can be started.

        Raises:
            ConfigError: No server has that name, or it has no effect; the text says why.
        """
        found = self.configured
        server = next((each for each in found.servers if each.name == name), None)
        if server is not None and server.problem:
            raise ConfigError(str(InvalidServer(server, server.problem)))
        if server is not None:
            return server
        untrusted = next((each for each in found.untrusted if each.name == name), None)
        if untrusted is not None:
            raise ConfigError(f"{untrusted.source} is not trusted, so {name} has no effect; cinch config trust")
        invalid = next((each for each in found.invalid if each.server.name == name), None)
        raise ConfigError(str(invalid) if invalid else self.unknown(name))

    def unknown(self, name: str) -> str:
        """Return the error for the name of a server that no file has."""
        nearest = did_you_mean(name, self.names, otherwise="; cinch mcp list shows all")
        return f"there is no MCP server named {name!r}{nearest}"

    def tables(self, name: str) -> dict[Scope, ServerTable]:
        """Return the tables of a server that commands may change."""
        tables = {each.layer: each for each in self.options.servers if each.name == name}
        return {scope: tables[_LAYERS[scope]] for scope in SCOPES if _LAYERS[scope] in tables}

    def add(self, server: McpServer, scope: Scope) -> None:
        """Write a server to the file of a scope; it takes the place of one of the same name."""
        values = table_of(server)
        self._change(scope, lambda path: add_table_to_file(path, f"{SERVERS}{server.name}", values))

    def remove(self, name: str, scope: Scope) -> None:
        """Remove a server from the file of a scope."""
        self._change(scope, lambda path: drop_table_from_file(path, f"{SERVERS}{name}"))

    def set(self, name: str, key: str, value: Value, scope: Scope) -> None:
        """Set one key of a server in the file of a scope."""
        self._change(scope, lambda path: set_in_file(path, f"{SERVERS}{name}.{key}", value))

    def _change(self, scope: Scope, change: Callable[[Path], None]) -> None:
        """Change a file. What the user trusted before stays trusted with the change, which is the user's own."""
        path = self.path(scope)
        is_trusted = scope == "user" or self._is_trusted(path)
        change(path)
        if scope == "local":
            self._ignore_in_git(path)
        if scope != "user" and not (is_trusted and self._trust(path)):
            self.out.write_text(f"{path} is not trusted, so it has no effect; to trust this folder: cinch config trust")

    def _is_trusted(self, path: Path) -> bool:
        """Return True if a file is trusted with its present content, or has none."""
        if not must_be_read(path) or not path.read_bytes().strip():
            return True
        sources = self.options.sources
        return TrustStore(sources.trust_file).trusts(self.options.cwd, path, read_config_file(path).sha256)

    def _trust(self, path: Path) -> bool:
        if not path.read_bytes().strip():
            return True
        sources = self.options.sources
        files = inventory(self.options.cwd, sources.user_file)
        try:
            return TrustStore(sources.trust_file).trust_file(files, Path(os.path.realpath(path)))
        except OSError as error:
            raise ConfigError(f"{sources.trust_file}: cannot be written: {error.strerror}") from error

    def _ignore_in_git(self, path: Path) -> None:
        """Keep a local file out of the repository, unless the folder has rules of its own."""
        ignore = path.parent / ".gitignore"
        if (trust_root(path.parent) / ".git").exists() and not ignore.exists():
            write_private(ignore, f"{path.name}\n")
            self.out.write_text(f"{ignore} keeps {path.name} out of the repository")


def server_files(cwd: Path, out: Output) -> ServerFiles:
    """Read the configuration of a folder.

    Raises:
        ConfigError: a file, key or value is invalid.
    """
    paths = find_paths(os.environ)
    sources = config_sources(paths, cwd)
    config = load_config(sources)
    return ServerFiles(Options(cwd, paths, os.environ, sources, notices=config.notices, servers=config.servers), out)
