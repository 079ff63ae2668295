"""MCP servers of a start: from the configuration, and from `.mcp.json` of a project that the user trusts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.paths import PROJECT_FOLDER
from cinch_tui.plugin_folders import installed_roots
from cinch_tui.trust.inventory import (
    LARGEST,
    SERVER_FILES,
    content_hash,
    extension_folders,
    one_line_name,
)
from extensions.variables import expand_variables
from harness.errors import NotAFile
from harness.workspace.disk import read_beginning

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from cinch_tui.config.server_keys import ServerTable
    from extensions.locations import Root
    from tools.mcp.auth.token_store import TokenStore
    from tools.mcp.server_config import McpServer

PLUGIN_SERVERS = ".mcp.json"
"""File with the servers of an installed plugin."""
PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
"""Folder of the plugin, in the configuration of its servers."""
_STRONGER = ("project", "local", "managed")
"""Layers that win over `.mcp.json`."""


class InvalidServer(Struct, frozen=True):
    """A server that cannot be started."""

    server: McpServer
    """The server as written."""
    reason: str
    """Reason, as the end of a sentence about the server."""

    def __str__(self) -> str:
        return f"{self.server.source}: MCP server {one_line_name(self.server.name)} {self.reason}"


class ConfiguredServers(Struct, frozen=True):
    """All MCP servers that files name."""

    servers: tuple[McpServer, ...] = ()
    """Servers that can be started, with variables expanded, and all disabled ones; see `McpServer.problem`."""
    notices: tuple[str, ...] = ()
    """Entries of files that are not used."""
    invalid: tuple[InvalidServer, ...] = ()
    """Servers that cannot be started; none of them affects the others."""
    untrusted: tuple[McpServer, ...] = ()
    """Servers of files that the user has not trusted, as written. They have no effect."""
    overridden: Mapping[str, tuple[str, ...]] = {}
    """Files whose definition of a server is not used, since a stronger file defines it, by name of the server."""

    @property
    def problems(self) -> list[str]:
        """Everything that the user has to know."""
        return [*self.notices, *map(str, self.invalid)]


def login_store(options: Options) -> TokenStore:
    """Return the store of the logins at MCP servers."""
    from cinch_tui.api_keys.system_keyring import SystemKeyring  # rarely needed
    from tools.mcp.auth.token_store import TokenStore

    return TokenStore(options.paths.data / "mcp", SystemKeyring(options.environ))


def read_servers(options: Options) -> ConfiguredServers:
    """Return all servers: managed > project-local > project > `.mcp.json` > user > plugins. Reads files."""
    if not options.uses_servers:
        return ConfiguredServers()
    files = list(_project_files(options.cwd))
    plugins = [root for root in installed_roots(options.paths)[0] if (root.path / PLUGIN_SERVERS).is_file()]
    if not files and not options.servers and not plugins:
        return ConfiguredServers()
    found = _Servers(options)
    found.add_plugins(plugins)
    found.add_tables(is_strong=False)
    for path in files:
        found.add_file(path)
    found.add_tables(is_strong=True)
    return found.result()


def _project_files(cwd: Path) -> Iterator[Path]:
    """Yield the files of a folder and of its parents in the repository; the nearest last."""
    for folder in extension_folders(cwd):
        for name in SERVER_FILES:
            path = folder / name
            if os.path.lexists(path):
                yield path


class _Servers:
    """Servers of the files read so far."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._servers: dict[str, McpServer] = {}
        self._overridden: dict[str, tuple[str, ...]] = {}
        self._untrusted: list[McpServer] = []
        self._notices: list[str] = []
        self._invalid: list[InvalidServer] = []

    def add_tables(self, *, is_strong: bool) -> None:
        """Add the servers of the layers that win over `.mcp.json`, or of the others."""
        for table in self._options.servers:
            if (table.layer in _STRONGER) is is_strong:
                self._add_table(table)

    def _add_table(self, table: ServerTable) -> None:
        below = self._servers.get(table.name)
        if not table.is_trusted:
            self._untrusted += [table.server()] if table.is_definition else []
        elif table.is_definition:
            is_of_project = table.layer in ("project", "local")
            self._put(table.server(), Path(table.source).parent.parent if is_of_project else None)
        elif below is not None:
            self._servers[table.name] = table.applied_to(below)
        else:
            self._invalid.append(InvalidServer(table.server(), "has neither a command nor a url"))

    def add_file(self, path: Path) -> None:
        """Add the servers of a `.mcp.json`."""
        # Imported here because few folders have one.
        from tools.mcp.import_files import parse_servers

        try:
            data = _content(path)
        except (OSError, NotAFile):
            # The inventory of the folder reports it.
            return
        if not data.strip():
            return
        imported = parse_servers(data.decode("utf-8", "replace"), str(path))
        if not _is_trusted(path, data, self._options):
            self._untrusted += imported.servers
            return
        self._notices += imported.problems
        folder = path.parent.parent if path.parent.name == PROJECT_FOLDER else path.parent
        for server in imported.servers:
            self._put(server, folder)

    def add_plugins(self, roots: Iterable[Root]) -> None:
        """Add the servers of plugins: `plugin_PLUGIN_SERVER`, as in Claude Code, so that its rules match them."""
        for root in roots:
            self._add_plugin(root)

    def _add_plugin(self, root: Root) -> None:
        # Imported here because few plugins have servers.
        from tools.mcp.import_files import map_texts, parse_servers

        path = root.path / PLUGIN_SERVERS
        try:
            data = _content(path)
        except (OSError, NotAFile) as error:
            self._notices.append(f"{path} cannot be read: {error}")
            return
        imported = parse_servers(data.decode("utf-8", "replace"), str(path))
        self._notices += imported.problems
        for server in imported.servers:
            server = map_texts(server, lambda text: text.replace(PLUGIN_ROOT, str(root.path)))
            env = {"CLAUDE_PLUGIN_ROOT": str(root.path), **server.env} if server.command else server.env
            self._put(replace(server, name=f"plugin_{root.plugin}_{server.name}", env=env), None)

    def result(self) -> ConfiguredServers:
        servers: list[McpServer] = []
        for server in self._servers.values():
            try:
                servers.append(self._checked(server))
            except ValueError as error:
                if server.enabled:
                    self._invalid.append(InvalidServer(server, str(error)))
                else:
                    # Reported when it is used.
                    servers.append(replace(server, problem=str(error)))
        return ConfiguredServers(
            tuple(servers), tuple(self._notices), tuple(self._invalid), tuple(self._untrusted), self._overridden
        )

    def _put(self, server: McpServer, project: Path | None) -> None:
        """Use a server from now on.

        Args:
            server: The server.
            project: Folder of the project whose file names it, which relative paths start at; None for other files.
        """
        is_elsewhere = project is not None and project != Path(os.path.realpath(self._options.cwd))
        if is_elsewhere and not server.cwd.startswith(("/", "~", "$")):
            server = replace(server, cwd=os.path.normpath(f"{project}/{server.cwd}"))
        below = self._servers.get(server.name)
        if below is not None:
            self._overridden[server.name] = (*self._overridden.get(server.name, ()), below.source)
        self._servers[server.name] = server

    def _checked(self, server: McpServer) -> McpServer:
        """Return the server with variables expanded.

        Raises:
            ValueError: the server cannot be started.
        """
        # Imported here because few users have MCP servers.
        from tools.mcp.import_files import inputs_of, map_texts, target_of

        if server.command and server.url:
            raise ValueError("has both a command and a url; remove one of them")
        if inputs := inputs_of(server):
            raise ValueError(f"needs the input {inputs[0]!r}, which is asked for by cinch mcp import {server.source}")
        server = replace(
            map_texts(server, lambda text: str(expand_variables(text, self._options.environ))), target=target_of(server)
        )
        if server.url and not server.url.startswith(("http://", "https://")):
            raise ValueError("needs a url that begins with http:// or https://")
        return server


def _content(path: Path) -> bytes:
    data, size = read_beginning(path, LARGEST + 1)
    if size > LARGEST:
        raise NotAFile("too large")
    return data


def _is_trusted(path: Path, data: bytes, options: Options) -> bool:
    # Imported here because few folders have such a file.
    from cinch_tui.trust.store import TrustStore

    store = TrustStore(options.sources.trust_file, options.sources.session_pins)
    return store.trusts(options.cwd, path, content_hash(data))
