"""Completion of `@server:uri`: servers, their resources, and values of the variables of resource templates."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cinch_tui.widgets.prompt.completion import Candidate, best
from harness.errors import CinchError

if TYPE_CHECKING:
    from tools.mcp.servers import McpServers
    from tools.mcp.state import ServerState

VALUES_SECONDS = 5.0
"""Maximum wait for the values of a variable."""
MAX_DESCRIPTION_CHARS = 200
_VARIABLE = re.compile(r"\{([A-Za-z_]\w*)\}")
Values = tuple[str, str, str, str]
"""Server, template, variable, and what is typed of its value."""


class ResourceCompletion:
    """Completes from what servers have listed; `load` asks them for values of a template."""

    def __init__(self, servers: Callable[[], McpServers | None]) -> None:
        self._servers = servers
        self._values: dict[Values, tuple[str, ...]] = {}
        self._wanted: Values | None = None

    @property
    def has_more(self) -> bool:
        """True if the server may know values for the last text: call `load`, and complete again."""
        return self._wanted is not None and self._wanted not in self._values

    def names(self, mention: str) -> bool:
        """Return True if a mention names a server."""
        server, colon, _ = mention.partition(":")
        return bool(colon) and any(each.server.name == server for each in self._connected())

    def complete(self, typed: str) -> tuple[Candidate, ...] | None:
        """Return the resources of the server that `typed` names; None if it names no server."""
        self._wanted = None
        if not self.names(typed):
            return None
        server, _, uri = typed.partition(":")
        candidates = [*self._valued(server, uri), *self._resources(server), *self._templates(server)]
        return best(typed, candidates)

    def servers(self, typed: str) -> list[Candidate]:
        """Return the servers with resources whose names begin with `typed`."""
        return [
            Candidate(f"{each.server.name}:", f"MCP server, {each.resources} resources", is_complete=False)
            for each in self._connected()
            if each.server.name.lower().startswith(typed.lower())
        ]

    async def load(self) -> None:
        """Ask the server for the values that `complete` lacked."""
        servers, wanted = self._servers(), self._wanted
        if servers is None or wanted is None:
            return
        self._values[wanted] = ()
        try:
            async with asyncio.timeout(VALUES_SECONDS):
                self._values[wanted] = await servers.complete_resource(*wanted)
        except (TimeoutError, CinchError):
            return

    def _connected(self) -> list[ServerState]:
        servers = self._servers()
        return [each for each in servers.states() if each.resources] if servers else []

    def _resources(self, server: str) -> Iterator[Candidate]:
        servers = self._servers()
        for each in servers.resources() if servers else ():
            if each.server == server and _is_typable(each.uri):
                about = " · ".join(filter(None, (each.name, each.description[:MAX_DESCRIPTION_CHARS])))
                yield Candidate(_quoted(f"{server}:{each.uri}"), about, then=" ", shown=each.uri)

    def _templates(self, server: str) -> Iterator[Candidate]:
        servers = self._servers()
        for each in servers.resource_templates() if servers else ():
            if each.server == server and _is_typable(each.uri_template):
                start = each.uri_template.partition("{")[0]
                about = " · ".join(filter(None, (each.name, each.description[:MAX_DESCRIPTION_CHARS])))
                yield Candidate(f"{server}:{start}", about, is_complete=False, shown=each.uri_template)

    def _valued(self, server: str, uri: str) -> Iterator[Candidate]:
        """Yield the resources of a template with one variable whose beginning is typed."""
        servers = self._servers()
        for each in servers.resource_templates() if servers else ():
            parts = _VARIABLE.split(each.uri_template)
            if each.server != server or len(parts) != 3 or not uri.startswith(parts[0]):
                continue
            start, variable, end = parts
            wanted = (server, each.uri_template, variable, uri.removeprefix(start))
            self._wanted = self._wanted or wanted
            for value in filter(_is_typable, self._values.get(wanted, ())):
                yield Candidate(_quoted(f"{server}:{start}{value}{end}"), each.name, then=" ")


def _is_typable(uri: str) -> bool:
    return uri.isprintable() and '"' not in uri


def _quoted(mention: str) -> str:
    return f'"{mention}"' if " " in mention else mention
