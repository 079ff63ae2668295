"""Language servers of an agent, by the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cinch_tui import __version__
from cinch_tui.config.lsp_tables import read_language_servers
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.plugin_folders import installed_roots
from cinch_tui.trust.inventory import LARGEST
from cinch_tui.web_options import secret_variables
from extensions.variables import expand_variables
from harness.errors import NotAFile
from harness.workspace.disk import read_small_text
from tools.lsp.edit_check import EditCheck
from tools.lsp.options import LanguageServer, LspOptions
from tools.lsp.servers import LanguageServers

if TYPE_CHECKING:
    from extensions.locations import Root

PLUGIN_SERVERS = ".lsp.json"
"""File with the language servers of an installed plugin."""


def lsp_options(options: Options, settings: Settings, is_trusted: Callable[[], bool]) -> tuple[LspOptions, list[str]]:
    """Return the options of language servers, and problems with their configuration.

    Args:
        options: Options of the start.
        settings: The settings.
        is_trusted: Returns True if the user trusts the folder.
    """
    plugins, problems = _plugin_servers(options)
    configured = read_language_servers(options.language_servers, plugins)
    return LspOptions(
        diagnostics_after_edits=settings.lsp.diagnostics_after_edits,
        edit_wait_s=settings.lsp.edit_wait_s,
        own=configured.servers,
        disabled=(*configured.disabled, *settings.lsp.disabled),
        is_trusted=is_trusted,
        environment=options.environ,
        secrets=secret_variables,
        idle_s=settings.lsp.idle_s,
    ), [*problems, *configured.problems]


def _plugin_servers(options: Options) -> tuple[list[LanguageServer], list[str]]:
    """Return the servers of installed plugins, and problems with them."""
    servers: list[LanguageServer] = []
    problems: list[str] = []
    for root in installed_roots(options.paths)[0]:
        path = root.path / PLUGIN_SERVERS
        if not path.is_file():
            continue
        from tools.lsp.plugin_servers import parse_servers  # few plugins have servers

        try:
            imported = parse_servers(read_small_text(path, LARGEST), str(path))
        except (OSError, NotAFile, UnicodeDecodeError) as error:
            problems.append(f"{path} cannot be read: {error}")
            continue
        problems += imported.problems
        for server in imported.servers:
            try:
                servers.append(_expanded(server, root, options))
            except ValueError as error:
                problems.append(f"{path}: the language server {server.name} {error}")
    return servers, problems


def _expanded(server: LanguageServer, root: Root, options: Options) -> LanguageServer:
    """Return a server of a plugin with its variables expanded, named like its MCP servers.

    Raises:
        ValueError: A variable is not set.
    """
    own = {"CLAUDE_PLUGIN_ROOT": str(root.path)}
    environ = {**options.environ, **own}
    command = tuple(str(expand_variables(each, environ)) for each in server.command)
    env = {name: str(expand_variables(value, environ)) for name, value in server.env.items()}
    return replace(server, name=f"plugin_{root.plugin}_{server.name}", command=command, env={**own, **env})


class AgentLanguageServers:
    """Language servers of an agent, with the check after its edits."""

    def __init__(self, options: Options, settings: Settings, *, is_trusted: bool) -> None:
        self.is_trusted = is_trusted
        """True if the user trusts the folder."""
        use, self.problems = lsp_options(options, settings, lambda: self.is_trusted)
        self.servers = LanguageServers(use, __version__)
        self.check = EditCheck(self.servers)

    def load(self, options: Options, settings: Settings, *, is_trusted: bool) -> list[str]:
        """Use the present configuration for servers that are started from now on; return problems with it."""
        self.is_trusted = is_trusted
        self.servers.options, problems = lsp_options(options, settings, lambda: self.is_trusted)
        return problems

    async def close(self) -> None:
        """Stop all servers."""
        await self.check.close()
        await self.servers.close()
