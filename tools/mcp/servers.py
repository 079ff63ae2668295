"""All MCP servers of a program: they connect concurrently, and none blocks or fails the others.

Neither this module nor the tools import the SDK, which takes a second: that happens in a thread with the first server.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from harness.messages import UserContent
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer
from tools.mcp.state import RequestFailed, ServerState, clean_line

if TYPE_CHECKING:
    from mcp_types import PromptReference, ResourceTemplateReference

    from harness.ports.tool import Tool
    from tools.mcp.catalog import McpPrompt, McpResource, McpResourceTemplate
    from tools.mcp.connection import Connection
    from tools.mcp.tool import McpTool

logger = logging.getLogger(__name__)

MAX_COMPLETION_CHARS = 500


class McpServers:
    """The MCP servers of a program.

    Args:
        servers: Configured servers; those that are not enabled stay off.
        host: Services of the program.
    """

    def __init__(self, servers: Sequence[McpServer], host: McpHost) -> None:
        self._servers = tuple(servers)
        self._host = host
        self._connections: dict[str, Connection] = {}
        self._listeners: list[Callable[[], None]] = []
        self._imported = asyncio.Event()
        self._starting: asyncio.Task[None] | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start connecting to all enabled servers, in the background. Needs a running event loop."""
        if self._starting is None and any(each.enabled for each in self._servers):
            self._starting = asyncio.create_task(self._start(), name="mcp servers")

    async def close(self) -> None:
        """End all connections, and the processes of all servers, within 3 seconds."""
        self._is_closed = True
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])
        async with asyncio.TaskGroup() as group:
            for each in self._connections.values():
                group.create_task(each.close())

    async def wait_ready(self, seconds: float, names: Collection[str] = ()) -> None:
        """Wait until every server is connected or has failed once.

        Args:
            seconds: Maximum time to wait.
            names: Tools to wait for as well, while servers are tried again.
        """
        if self._starting is None:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._imported.wait()
                for each in tuple(self._connections.values()):
                    await each.wait_settled()
                await self._wait_for_tools(set(names))
        except TimeoutError:
            logger.info("MCP servers are still connecting after %g s", seconds)

    async def _wait_for_tools(self, names: set[str]) -> None:
        changed = asyncio.Event()
        stop = self.on_change(changed.set)
        try:
            while names.difference(each.name for each in self._tools()) and any(
                each.is_pending for each in self._connections.values()
            ):
                changed.clear()
                await changed.wait()
        finally:
            stop()

    def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server, in the order of the configuration."""
        return tuple(self._state(each) for each in self._servers)

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers; of tools with the same name, the first one."""
        return tuple({each.name: each for each in reversed(self._tools())}.values())[::-1]

    def tools_of(self, name: str) -> tuple[McpTool, ...]:
        """Return the tools of one server."""
        return tuple(each for each in self._tools() if each.server == name)

    def resources(self) -> tuple[McpResource, ...]:
        """Return the resources of all servers."""
        return tuple(one for each in self._active() for one in each.catalog.resources)

    def resource_templates(self) -> tuple[McpResourceTemplate, ...]:
        """Return the resource templates of all servers."""
        return tuple(one for each in self._active() for one in each.catalog.templates)

    def prompts(self) -> tuple[McpPrompt, ...]:
        """Return the prompts of all servers."""
        return tuple(one for each in self._active() for one in each.catalog.prompts)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function whenever a state or a list has changed; return a function that ends this."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    async def reconnect(self, name: str) -> None:
        """Connect to a server again, also if it is off.

        Raises:
            RequestFailed: No server has this name, or it cannot be started.
        """
        server = next((each for each in self._servers if each.name == name), None)
        if server is None:
            raise RequestFailed(f"no MCP server is named {name}")
        if server.problem:
            raise RequestFailed(f"the MCP server {name} {server.problem}")
        if name not in self._connections:
            await self._add([server])
        await self._connections[name].reconnect()

    async def disconnect(self, name: str) -> None:
        """End the connection to a server until `reconnect`."""
        if name in self._connections:
            await self._connections[name].close()

    async def read_resource(self, server: str, uri: str) -> tuple[UserContent, ...]:
        """Return the contents of a resource as content for a model; binary data is saved in files.

        Raises:
            RequestFailed: The server is not connected, or the resource cannot be read.
        """
        from tools.mcp.content import contents_of

        result = await self._connection(server).request(lambda client: client.read_resource(uri))
        return (await contents_of(result.contents, self._host.spill_dir, f"{server}-resource")).blocks

    async def get_prompt(self, server: str, name: str, arguments: dict[str, str]) -> tuple[UserContent, ...]:
        """Return a prompt with its arguments filled in, as content of a message of the user.

        Raises:
            RequestFailed: The server is not connected, or rejects the arguments.
        """
        from tools.mcp.content import prompt_content

        result = await self._connection(server).request(lambda client: client.get_prompt(name, arguments))
        return await prompt_content(result, self._host.spill_dir, f"{server}-prompt")

    async def complete_prompt(
        self, server: str, name: str, argument: str, value: str, given: dict[str, str] | None = None
    ) -> tuple[str, ...]:
        """Return values that complete an argument of a prompt; empty if the server offers none.

        Args:
            server: Name of the server.
            name: Name of the prompt.
            argument: Name of the argument.
            value: Beginning of its value.
            given: Values of other arguments.
        """
        import mcp_types as types

        ref = types.PromptReference(type="ref/prompt", name=name)
        return await self._complete(server, ref, {"name": argument, "value": value}, given)

    async def complete_resource(self, server: str, template: str, argument: str, value: str) -> tuple[str, ...]:
        """Return values that complete a variable of a resource template; empty if the server offers none."""
        import mcp_types as types

        ref = types.ResourceTemplateReference(type="ref/resource", uri=template)
        return await self._complete(server, ref, {"name": argument, "value": value})

    async def _complete(
        self,
        server: str,
        ref: ResourceTemplateReference | PromptReference,
        argument: dict[str, str],
        given: dict[str, str] | None = None,
    ) -> tuple[str, ...]:
        connection = self._connection(server)
        try:
            result = await connection.request(lambda client: client.complete(ref, argument, given))
        except RequestFailed:
            return ()
        return tuple(each for each in result.completion.values if each == clean_line(each, MAX_COMPLETION_CHARS))

    def _connection(self, name: str) -> Connection:
        if name not in self._connections:
            raise RequestFailed(f"the MCP server {name} is not connected")
        return self._connections[name]

    def _active(self) -> list[Connection]:
        return [each for each in self._connections.values() if each.phase in ("connected", "reconnecting")]

    def _tools(self) -> list[McpTool]:
        return [one for each in self._active() for one in each.catalog.tools]

    def _state(self, server: McpServer) -> ServerState:
        connection = self._connections.get(server.name)
        if connection is not None:
            return connection.state
        is_starting = self._starting is not None and not self._is_closed and server.enabled
        return ServerState(server, "connecting" if is_starting else "off", "" if server.enabled else "disabled")

    async def _start(self) -> None:
        await self._add([each for each in self._servers if each.enabled])
        for each in self._connections.values():
            each.start()
        self._imported.set()

    async def _add(self, servers: Sequence[McpServer]) -> None:
        # The module imports the SDK.
        module = await asyncio.to_thread(importlib.import_module, "tools.mcp.connection")
        for each in servers:
            if each.name not in self._connections:
                self._connections[each.name] = module.Connection(each, self._host, self._changed)

    def _changed(self) -> None:
        for each in tuple(self._listeners):
            each()
