"""MCP servers of a session, as the user sees and changes them: in `/mcp`, its screen and plain mode."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.agent_session import AgentSession
    from tools.mcp.auth.browser_login import LoginRequest
    from tools.mcp.servers import McpServers
    from tools.mcp.state import ServerState

    ShowLogin = Callable[[LoginRequest], Awaitable[None]]


class McpControl:
    """Actions on the servers; each returns a sentence for the user.

    Args:
        session: Session whose servers these are.
        show_login: Shows a login to the user; cancelled at its end.

    Raises:
        CinchError: No servers are configured.
    """

    def __init__(self, session: AgentSession, show_login: ShowLogin) -> None:
        from cinch_tui.reports.mcp import NO_SERVERS

        servers = session.mcp
        if servers is None or not servers.states():
            raise CinchError(NO_SERVERS)
        self.servers: McpServers = servers
        self.session = session
        self._show_login = show_login

    def state(self, name: str) -> ServerState:
        """Return the state of a server.

        Raises:
            CinchError: No server has this name.
        """
        states = self.servers.states()
        found = next((each for each in states if each.server.name == name), None)
        if found is None:
            raise CinchError(f"no MCP server is named {name}; these are: {', '.join(e.server.name for e in states)}")
        return found

    async def reconnect(self, name: str) -> str:
        """Connect again, also to a server that is off."""
        self.state(name)
        await self.servers.reconnect(name)
        return f"Connecting to {name}."

    async def turn_off(self, name: str) -> str:
        """End the connection until `reconnect`, or until the session ends."""
        self.state(name)
        await self.servers.disconnect(name)
        return f"{name} is off for this session."

    async def log_in(self, name: str) -> str:
        """Log in by browser, and connect.

        Raises:
            CinchError: The login failed.
        """
        from cinch_tui.mcp_servers import login_store

        server, options = self.state(name).server, self.session.options
        if server.problem:
            raise CinchError(f"the MCP server {name} {server.problem}")
        # The SDK may not be loaded yet.
        login = await asyncio.to_thread(importlib.import_module, "tools.mcp.auth.login")
        network = await asyncio.to_thread(importlib.import_module, "tools.mcp.network")
        transport = network.NetworkTransport(options.environ)
        await login.login(server, login_store(options), self._show_login, transport)
        await self.servers.reconnect(name)
        return f"Logged in to {name}."

    async def log_out(self, name: str) -> str:
        """Delete the login, and connect again without it unless the server is off.

        Raises:
            CinchError: The server has no login, or it cannot be deleted.
        """
        from cinch_tui.mcp_servers import login_store

        state, options = self.state(name), self.session.options
        login = await asyncio.to_thread(importlib.import_module, "tools.mcp.auth.login")
        network = await asyncio.to_thread(importlib.import_module, "tools.mcp.network")
        tokens = login_store(options)
        is_used = tokens.has_login(state.server) and state.phase != "off"
        if is_used:
            # A connection that is being established could store refreshed tokens again.
            await self.servers.disconnect(name)
        try:
            result = await login.logout(state.server, tokens, network.NetworkTransport(options.environ))
        finally:
            if is_used:
                await self.servers.reconnect(name)
        if not result.was_logged_in:
            return f"There is no login for {name}."
        problem = f" The tokens were deleted here but not revoked: {result.problem}" if result.problem else ""
        return f"Logged out of {name}.{problem}"
