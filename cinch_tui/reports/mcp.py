"""MCP servers as text: states, tools with their price and permission, resources, prompts, log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.rendering.safe_text import one_line
from harness.context.tokens import estimate_overhead
from harness.messages import ToolCall
from harness.permissions import Effect
from harness.ports.permission_policy import CallFacts
from harness.ports.tool import specs_of
from tools.mcp.import_files import target_of
from tools.mcp.state import Phase, ServerState, clean_line, clean_text

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from tools.mcp.catalog import McpPrompt
    from tools.mcp.servers import McpServers
    from tools.mcp.tool import McpTool

NO_SERVERS = "no MCP servers are configured; cinch mcp add NAME COMMAND adds one"
MARKS: dict[Phase, str] = {
    "connected": "●",
    "connecting": "◌",
    "reconnecting": "◌",
    "needs_login": "◆",
    "failed": "✗",
    "off": "○",
}
_PHASES: dict[Phase, str] = {"needs_login": "needs login"}
_EFFECTS: dict[Effect, str] = {"allow": "allowed", "ask": "asks", "deny": "denied"}
MAX_SCHEMA_CHARS = 20_000


class McpEntry(Struct, frozen=True):
    """Title, tool, resource or prompt in the details of a server."""

    label: str
    """Name."""
    detail: str = ""
    """Properties on one line."""
    text: str = ""
    """Description and parameters."""
    is_title: bool = False
    """True for the title of a section."""


def phase_text(state: ServerState) -> str:
    """Return the phase of a server, with the seconds until the next attempt and the reason."""
    phase = _PHASES.get(state.phase, state.phase)
    left = round(state.retry_at - time.monotonic()) if state.retry_at else 0
    if left > 0:
        phase = f"{phase} in {left} s" if state.phase == "reconnecting" else f"{phase}, next attempt in {left} s"
    return f"{phase}: {one_line(state.reason)}" if state.reason else phase


def address(state: ServerState) -> str:
    """Return the transport, and the URL or command of a server."""
    server = state.server
    return one_line(f"{server.transport} {target_of(server)}")


def contents_text(state: ServerState, tools: Sequence[McpTool]) -> str:
    """Return the number of tools with their tokens, of resources and of prompts; empty for none."""
    if state.phase not in ("connected", "reconnecting"):
        return ""
    price = estimate_overhead("", specs_of(tools)) if tools else 0
    counts = (
        f"{_count(len(tools), 'tool')} (~{price:,} tokens)" if tools else "",
        _count(state.resources, "resource") if state.resources else "",
        _count(state.prompts, "prompt") if state.prompts else "",
    )
    return " · ".join(filter(None, counts))


def summary(states: Sequence[ServerState]) -> str:
    """Return the number of servers in each phase."""
    phases = [_PHASES.get(each.phase, each.phase) for each in states]
    return " · ".join(f"{phases.count(each)} {each}" for each in dict.fromkeys(phases))


def unavailable_text(state: ServerState) -> str:
    """Return a sentence about a server that is not connected."""
    name, reason = one_line(state.server.name), one_line(state.reason)
    match state.phase:
        case "needs_login":
            return reason if name in reason else f"MCP server {name} requires a login: {reason}"
        case "failed":
            return f"MCP server {name} failed: {reason}"
        case "connecting" | "reconnecting":
            return f"MCP server {name} is still connecting{f': {reason}' if reason else ''}"
        case _:
            return f"MCP server {name} is off"


def about_lines(state: ServerState) -> Iterator[str]:
    """Yield address, origin, versions and problems of a server."""
    yield address(state)
    versions = (state.title, f"protocol {state.protocol}" if state.protocol else "")
    yield " · ".join(filter(None, (*versions, f"from {one_line(state.server.source)}" if state.server.source else "")))
    yield from map(one_line, state.problems)


def attention_text(problems: Mapping[str, Phase]) -> str:
    """Return which servers need the attention of the user, for the status bar; empty for none."""
    logins = [name for name, phase in problems.items() if phase == "needs_login"]
    failed = [name for name, phase in problems.items() if phase == "failed"]
    parts = (("needs login", logins), ("failed", failed))
    named = [f"MCP {clean_line(names[0], 20)} {what}" for what, names in parts if len(names) == 1]
    return " · ".join([*named, *(f"{len(names)} MCP servers: {what}" for what, names in parts if len(names) > 1)])


def table(servers: McpServers) -> str:
    """Return the states of all servers as lines, for plain mode."""
    lines: list[str] = []
    for state in servers.states():
        name = one_line(state.server.name)
        contents = contents_text(state, servers.tools_of(state.server.name))
        lines += [f"{name}: {phase_text(state)}", *(f"  {line}" for line in (contents, *about_lines(state)) if line)]
    return "\n".join(lines)


def log_text(servers: McpServers, name: str) -> str:
    """Return the latest lines that a server has logged."""
    state = next((each for each in servers.states() if each.server.name == name), None)
    return "\n".join(state.log) if state and state.log else "The server has logged nothing yet."


def entries(servers: McpServers, agent: Agent, name: str) -> list[McpEntry]:
    """Return the tools, resources and prompts of a server below titles."""
    tools = [_tool_entry(each, agent) for each in servers.tools_of(name)]
    resources = [
        McpEntry(one_line(f"@{name}:{each.uri}"), each.name, _described(each.uri, each.description, each.media_type))
        for each in servers.resources()
        if each.server == name
    ]
    resources += [
        McpEntry(
            one_line(f"@{name}:{each.uri_template}"),
            each.name,
            _described(each.uri_template, each.description, each.media_type),
        )
        for each in servers.resource_templates()
        if each.server == name
    ]
    prompts = [_prompt_entry(each) for each in servers.prompts() if each.server == name]
    found: list[McpEntry] = []
    for title, group in (("Tools", tools), ("Resources", resources), ("Prompts", prompts)):
        found += [McpEntry(title, is_title=True), *group] if group else []
    return found


def _tool_entry(tool: McpTool, agent: Agent) -> McpEntry:
    hints = "read-only" if tool.is_read_only else "destructive" if tool.is_destructive else ""
    price = f"~{estimate_overhead('', specs_of((tool,))):,} tokens"
    schema = clean_text(json.dumps(tool.parameters, ensure_ascii=False, indent=2), MAX_SCHEMA_CHARS)
    detail = " · ".join(filter(None, (permission_of(tool, agent), hints, price, _first_line(tool.description))))
    return McpEntry(one_line(tool.remote_name), detail, f"{tool.name}\n\n{tool.description}\n\nParameters:\n{schema}")


def permission_of(tool: McpTool, agent: Agent) -> str:
    """Return if calls of a tool are allowed, denied, or need approval, by the rules and modes of now."""
    facts = CallFacts(tool, ToolCall("", tool.name, {}), {}, tool.risk({}), agent.workspace)
    return _EFFECTS[agent.state.permissions.decide(facts).kind]


def _prompt_entry(prompt: McpPrompt) -> McpEntry:
    arguments = "\n".join(
        f"{clean_line(each.name)}{'' if each.required else ' (optional)'}: {each.description}"
        for each in prompt.arguments
    )
    text = "\n\n".join(filter(None, (prompt.description, arguments)))
    return McpEntry(one_line(prompt.name), _first_line(prompt.description) or prompt.title, text)


def _described(uri: str, *parts: str) -> str:
    return "\n\n".join(filter(None, (one_line(uri), *parts)))


def _first_line(text: str) -> str:
    return one_line(text.strip().partition("\n")[0])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
