"""MCP servers with given states and lists, without connections: for pictures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import mcp_types as types
from msgspec.structs import replace

from cinch_tui.agent_session import AgentSession
from cinch_tui.mcp_control import McpControl
from tools.mcp.catalog import McpPrompt, McpPromptArgument, McpResource, McpResourceTemplate
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer
from tools.mcp.servers import McpServers
from tools.mcp.state import ServerState
from tools.mcp.tool import McpTool

GITHUB = McpServer(
    "github", command="npx", args=("-y", "@modelcontextprotocol/server-github"), source="~/.config/cinch/config.toml"
)
DOCS = McpServer("docs", url="https://mcp.example.com/mcp", transport="http", source=".mcp.json")
BROKEN = McpServer("broken\x1b[31m" + "-and-long" * 12, command="./serve", source=".mcp.json")
STATES = (
    ServerState(
        GITHUB,
        "connected",
        title="GitHub 1.4.0",
        protocol="2025-11-25",
        tools=("mcp__github__get_issue", "mcp__github__delete_repository"),
        resources=2,
        prompts=1,
        problems=("search was skipped: its schema is no schema",),
        log=("info: ready", "warning: rate limit at 80 %"),
    ),
    ServerState(DOCS, "needs_login", "the server requires a login"),
    ServerState(BROKEN, "failed", "exited with status 4: cannot start: no license"),
    ServerState(replace(DOCS, name="archive", enabled=False), "off", "disabled"),
)
PROMPTS = (
    McpPrompt(
        "github",
        "review",
        "Review",
        "Review a pull request.",
        (McpPromptArgument("number", "Its number", required=True), McpPromptArgument("focus", "What matters most")),
    ),
)


class GivenServers(McpServers):
    """Servers that exist in memory only."""

    def __init__(self, states: tuple[ServerState, ...] = STATES) -> None:
        super().__init__([each.server for each in states], McpHost(Path("/shop"), Path("/shop/spill")))
        self.given = states
        self.given_prompts = PROMPTS

    def states(self) -> tuple[ServerState, ...]:
        return self.given

    def tools_of(self, name: str) -> tuple[McpTool, ...]:
        return TOOLS if name == GITHUB.name else ()

    def resources(self) -> tuple[McpResource, ...]:
        return (McpResource("github", "repo://shop/readme", "README", "The README.", "text/markdown", 900),)

    def resource_templates(self) -> tuple[McpResourceTemplate, ...]:
        return (McpResourceTemplate("github", "repo://shop/issues/{number}", "Issue"),)

    def prompts(self) -> tuple[McpPrompt, ...]:
        return self.given_prompts

    def change(self, *states: ServerState) -> None:
        """Replace the states, and report the change."""
        self.given = states
        self._changed()


def tool(name: str, description: str, **hints: bool) -> McpTool:
    properties = {"number": {"type": "integer", "description": "Number of the issue"}}
    listed = types.Tool(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties, "required": ["number"]},
        annotations=types.ToolAnnotations(**hints),
    )
    return McpTool(SimpleNamespace(server=GITHUB), listed)  # type: ignore[arg-type] it is never called


TOOLS = (
    tool("get_issue", "Get an issue of a repository.", read_only_hint=True),
    tool("delete_repository", "Delete a repository.\nThis cannot be undone.\x1b[2J", destructive_hint=True),
)


async def no_login(request: object) -> None:
    del request


def control(session: AgentSession, servers: McpServers | None = None) -> McpControl:
    """Return the control of given servers, which become those of the session."""
    session.mcp = servers or GivenServers()
    return McpControl(session, no_login)
