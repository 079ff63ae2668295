"""Language servers of an agent, by the settings."""

from __future__ import annotations

from collections.abc import Callable

from cinch_tui import __version__
from cinch_tui.config.lsp_tables import read_language_servers
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.web_options import secret_variables
from tools.lsp.edit_check import EditCheck
from tools.lsp.options import LspOptions
from tools.lsp.servers import LanguageServers


def lsp_options(options: Options, settings: Settings, is_trusted: Callable[[], bool]) -> tuple[LspOptions, list[str]]:
    """Return the options of language servers, and problems with their configuration.

    Args:
        options: Options of the start.
        settings: The settings.
        is_trusted: Returns True if the user trusts the folder.
    """
    configured = read_language_servers(options.language_servers)
    return LspOptions(
        diagnostics_after_edits=settings.lsp.diagnostics_after_edits,
        own=configured.servers,
        disabled=(*configured.disabled, *settings.lsp.disabled),
        is_trusted=is_trusted,
        environment=options.environ,
        secrets=secret_variables,
        idle_s=settings.lsp.idle_s,
    ), list(configured.problems)


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
