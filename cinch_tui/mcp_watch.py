"""Changes of MCP servers as notices, and their prompts as commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.mcp import prompt_commands
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.reports.mcp import attention_text, unavailable_text

if TYPE_CHECKING:
    from cinch_tui.agent_session import AgentSession
    from tools.mcp.catalog import McpPrompt
    from tools.mcp.servers import McpServers
    from tools.mcp.state import Phase, ServerState

QUIET_SECONDS = 5.0
"""A connection that is restored sooner is not worth a notice."""


class McpWatch:
    """Follows the servers of a session: one line for a server that fails, needs a login, or is connected again.

    Args:
        session: Session that shows the notices.
        servers: Its servers.
        show_attention: Shows which servers need the attention of the user; empty for none.
    """

    def __init__(
        self, session: AgentSession, servers: McpServers, show_attention: Callable[[str], None] = lambda _: None
    ) -> None:
        self._session = session
        self._servers = servers
        self._show_attention = show_attention
        self._problems: dict[str, Phase] = {}
        """Reported problems by name of the server."""
        self._lost_at: dict[str, float] = {}
        self._prompts: tuple[McpPrompt, ...] = ()

    def start(self) -> None:
        """Follow the servers from now on."""
        self._servers.on_change(self._update)
        self._update()

    def _update(self) -> None:
        for state in self._servers.states():
            self._report(state)
        # A server that is retried is not connected yet.
        self._show_attention(attention_text(self._problems))
        prompts = self._servers.prompts()
        if prompts != self._prompts:
            self._prompts = prompts
            builtin_commands().replace_group(prompt_commands(self._servers))

    def _report(self, state: ServerState) -> None:
        name, shown = state.server.name, one_line(state.server.name)
        match state.phase:
            case "failed" | "needs_login" as phase:
                if self._problems.get(name) != phase:
                    self._session.notice(_problem(state), "warning")
                self._problems[name] = phase
                self._lost_at.pop(name, None)
            case "reconnecting":
                self._lost_at.setdefault(name, time.monotonic())
            case "connected":
                seconds = time.monotonic() - self._lost_at.pop(name, time.monotonic())
                if self._problems.pop(name, None) or seconds >= QUIET_SECONDS:
                    self._session.notice(f"MCP server {shown} is connected again.")
            case "off":
                self._problems.pop(name, None)
                self._lost_at.pop(name, None)
            case _:
                pass


def _problem(state: ServerState) -> str:
    name = one_line(state.server.name)
    if state.phase == "needs_login":
        return f"MCP server {name} needs a login: /mcp login {name}"
    return f"{unavailable_text(state)}; /mcp log {name} shows its log"
