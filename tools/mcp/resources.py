"""read_resource: a resource of an MCP server, for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from harness.errors import InvalidArguments
from harness.function_tools.names import READ_RESOURCE, legal_tool_name
from harness.function_tools.schema import Checker
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TextView, View
from tools.mcp.content import failure_of, framed_output
from tools.mcp.state import RequestFailed, clean_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.messages import UserContent
    from tools.mcp.catalog import McpResource, McpResourceTemplate

MAX_LISTED = 40
_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "server": {"type": "string", "description": "Name of the MCP server."},
        "uri": {"type": "string", "description": "URI of the resource."},
    },
    "required": ["server", "uri"],
}


class ResourceServers(Protocol):
    """Servers with resources; see `tools.mcp.servers.McpServers`."""

    def resources(self) -> Sequence[McpResource]: ...
    def resource_templates(self) -> Sequence[McpResourceTemplate]: ...
    async def read_resource(self, server: str, uri: str) -> tuple[UserContent, ...]: ...


class ReadResourceTool:
    """Tool that reads a resource; its description lists what there is when the model looks for it."""

    name = READ_RESOURCE
    label = "Read MCP resource"
    mutates = False
    deferred = True

    def __init__(self, servers: ResourceServers) -> None:
        self.parameters = _PARAMETERS
        # Fixed here: the description of a declared tool must not change.
        self.description = _description(servers)
        self._servers = servers
        self._checker = Checker(self.name, self.parameters)

    def validate(self, arguments: JsonObject) -> JsonObject:
        checked = self._checker.check(arguments)
        servers = {each.server for each in (*self._servers.resources(), *self._servers.resource_templates())}
        if checked["server"] not in servers:
            raise InvalidArguments(f"server: must be one of {', '.join(sorted(servers)) or 'none, none has resources'}")
        return checked

    def summary(self, arguments: JsonObject) -> str:
        return clean_line(f"{arguments.get('server', '')} {arguments.get('uri', '')}", 200).strip()

    def risk(self, arguments: JsonObject) -> Risk:
        server = str(arguments.get("server", ""))
        # Rules for a server cover its resources, too.
        rule_name = legal_tool_name("mcp", server, self.name) if server else ""
        return Risk("execute", f"reads from the MCP server {server}", access="shared", rule_name=rule_name)

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        del context
        return TextView(self.summary(arguments))

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        server, uri = str(arguments["server"]), str(arguments["uri"])
        source = f"MCP server {server}: {uri}"
        try:
            content = await self._servers.read_resource(server, uri)
        except RequestFailed as error:
            return failure_of("The resource could not be read", error, source)
        return framed_output(content, context, source)


def _description(servers: ResourceServers) -> str:
    resources = [f"{each.server}: {clean_line(each.uri, 300)} ({each.name})" for each in servers.resources()]
    templates = [
        f"{each.server}: {clean_line(each.uri_template, 300)} ({each.name})" for each in servers.resource_templates()
    ]
    listed = [*templates, *resources]
    more = f"\n… and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
    return "Reads a resource of an MCP server. Resources:\n" + "\n".join(listed[:MAX_LISTED]) + more


if TYPE_CHECKING:
    _: type[Tool] = ReadResourceTool
