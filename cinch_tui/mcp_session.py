"""MCP servers of an agent: their tools become its tools, and their requests go to the user and the model."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING

from cinch_tui import __version__
from cinch_tui.mcp_servers import ConfiguredServers, login_store, read_servers
from cinch_tui.permissions import is_enabled
from harness.agent.agent import Agent
from harness.agent.side_question import reply_to

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings
    from harness.messages import JsonValue
    from tools.mcp.host import McpHost, SampledReply, SamplingRequest
    from tools.mcp.servers import McpServers
    from tools.mcp.state import Phase, ServerState

RESOURCES = "MCP resources"
CLAUDE_STATUS: dict[Phase, str] = {
    "off": "disabled",
    "connecting": "pending",
    "connected": "connected",
    "needs_login": "needs-auth",
    "failed": "failed",
    "reconnecting": "pending",
}
"""Status in the format of Claude Code's print mode."""


class McpSession:
    """MCP servers of an agent. Nothing is imported or started if none is configured.

    Args:
        agent: The agent.
        options: Options of the start.
        settings: Settings.
    """

    def __init__(self, agent: Agent, options: Options, settings: Settings) -> None:
        self.servers: McpServers | None = None
        """The servers; None before `start`, or if none is configured."""
        self._agent = agent
        self._options = options
        self._settings = settings
        self._configured = ConfiguredServers()
        self._closes = False

    async def start(self) -> list[str]:
        """Start connecting to the configured servers, and return problems with the configuration."""
        return await self.load(self._options, self._settings)

    async def load(self, options: Options, settings: Settings) -> list[str]:
        """Use the servers that are configured and trusted now; return problems with the configuration."""
        self._options, self._settings = options, settings
        before, self._configured = self._configured, await asyncio.to_thread(read_servers, options)
        configured = self._configured.servers
        if configured == before.servers:
            return self._configured.problems
        await self._stop()
        if not configured:
            return self._configured.problems
        # Imported with the first server.
        from tools.mcp.servers import McpServers

        self.servers = servers = McpServers(configured, self._host())
        for each in configured:
            if each.enabled:
                self._agent.set_source_tools(_source(each.name), ())
        servers.on_change(self._take_over)
        self._agent.state.late.sources.wait_ready = self.wait_ready
        if not self._closes:
            self._closes = True
            self._agent.on_close(self._stop)
        servers.start()
        return self._configured.problems

    async def _stop(self) -> None:
        servers, self.servers = self.servers, None
        if servers is not None:
            await servers.close()
            for each in servers.states():
                self._agent.set_source_tools(_source(each.server.name), ())
            self._agent.state.late.sources.remove(RESOURCES)

    async def wait_ready(self, names: Collection[str] = ()) -> None:
        """Wait until every server is connected or has failed, for at most the time in the settings.

        Args:
            names: Tools to wait for; servers that will be tried again may offer them.
        """
        if self.servers is not None:
            await self.servers.wait_ready(self._settings.mcp.startup_wait_s, names)

    @property
    def states(self) -> tuple[ServerState, ...]:
        """State of each server."""
        return self.servers.states() if self.servers else ()

    @property
    def are_available(self) -> bool:
        """True if all enabled servers are configured correctly and connected."""
        return not (self._configured.invalid or self.unavailable)

    @property
    def unavailable(self) -> list[str]:
        """A sentence about each enabled server that is not connected."""
        down = [each for each in self.states if each.server.enabled and each.phase != "connected"]
        if not down:
            return []
        from cinch_tui.reports.mcp import unavailable_text  # rarely needed

        return [unavailable_text(each) for each in down]

    def status_records(self) -> list[JsonValue]:
        """Return name and status of each server, in the format of Claude Code's print mode."""
        return [{"name": each.server.name, "status": CLAUDE_STATUS[each.phase]} for each in self.states]

    def _host(self) -> McpHost:
        from cinch_tui.web_options import secret_variables
        from tools.mcp.auth import authentication
        from tools.mcp.host import McpHost

        agent, options = self._agent, self._options
        tokens, has_user = login_store(options), not options.headless
        return McpHost(
            root=agent.workspace.root,
            spill_dir=agent.options.spill_dir or options.paths.cache / "output",
            ask=agent.options.user.ask if has_user else None,
            sample=self.sample if has_user else None,
            model_name=lambda: agent.state.model.spec.name,
            roots=lambda: (agent.workspace.root, *options.add_dirs),
            environment=options.environ,
            secrets=secret_variables,
            authenticate=lambda server: authentication(server, tokens, None),
            version=__version__,
        )

    async def sample(self, request: SamplingRequest) -> SampledReply:
        """Let the agent's model reply to a conversation of a server; only the usage counts for the agent."""
        from tools.mcp.host import SampledReply

        reply = await reply_to(self._agent, request.messages, request.system_prompt, request.max_tokens)
        return SampledReply(reply.text, reply.model, is_truncated=reply.stop_reason == "length")

    def _take_over(self) -> None:
        """Give the agent the tools of all servers."""
        servers = self.servers
        if servers is None:
            return
        for state in servers.states():
            name = state.server.name
            if state.server.enabled or state.phase != "off":
                tools = [each for each in servers.tools_of(name) if is_enabled(each, self._settings)]
                self._agent.set_source_tools(_source(name), tools)
        if servers.resources() or servers.resource_templates():
            from tools.mcp.resources import ReadResourceTool

            self._agent.set_source_tools(RESOURCES, [ReadResourceTool(servers)])


def _source(name: str) -> str:
    return f"the MCP server {name}"
