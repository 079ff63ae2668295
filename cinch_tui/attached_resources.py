"""Resources of MCP servers that a prompt mentions as `@server:uri`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.agent.guardrails import find_secrets
from harness.context.attachments import OPENING
from harness.errors import CinchError
from harness.messages import Image, Text, UserContent

if TYPE_CHECKING:
    from tools.mcp.servers import McpServers

READ_SECONDS = 30.0
"""Maximum time to read a resource."""
PUNCTUATION = ".,;:!?)]}'`"


class MentionedResource(Struct, frozen=True):
    """A resource named in a prompt."""

    server: str
    """Name of the server."""
    uri: str
    """URI."""

    @property
    def name(self) -> str:
        return f"{self.server}:{self.uri}"


def resource_named(mention: str, servers: McpServers | None) -> MentionedResource | None:
    """Return the resource that a mention names, without punctuation after it; None if it names no server."""
    server, _, uri = mention.partition(":")
    if servers is None or not uri or all(each.server.name != server for each in servers.states()):
        return None
    listed = {each.uri for each in servers.resources() if each.server == server}
    return MentionedResource(server, uri if uri in listed else uri.rstrip(PUNCTUATION))


async def read_resource(resource: MentionedResource, servers: McpServers) -> tuple[list[UserContent], str]:
    """Return a resource as blocks of a message, and its extent for the user.

    Raises:
        CinchError: It cannot be read, or seems to contain an API key.
    """
    from tools.untrusted_text import framed

    try:
        async with asyncio.timeout(READ_SECONDS):
            content = await servers.read_resource(resource.server, resource.uri)
    except TimeoutError as error:
        raise CinchError(f"the MCP server {resource.server} did not answer within {READ_SECONDS:g} s") from error
    texts = "".join(each.text for each in content if isinstance(each, Text))
    if find_secrets(texts):
        raise CinchError("it seems to contain an API key")
    images = [each for each in content if isinstance(each, Image)]
    lines = texts.count("\n") + 1
    extent = "picture" if images else "1 line" if lines == 1 else f"{lines:,} lines"
    shown = framed(texts, resource.name) if texts else ""
    name = resource.name.replace('"', "%22")
    return [Text(f'{OPENING}{name}" extent="{extent}">\n{shown}\n</attached>'), *images], extent
