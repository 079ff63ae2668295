"""Tools, resources and prompts of one server, loaded with bounds and again when the server announces a change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import anyio
from msgspec import Struct

from harness.errors import ConfigError
from tools.mcp.state import clean_line, clean_text
from tools.mcp.tool import McpTool, ToolServer

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client
    from mcp.client.session import IncomingMessage

Kind: TypeAlias = Literal["tools", "resources", "prompts"]
KINDS: tuple[Kind, ...] = ("tools", "resources", "prompts")

MAX_PAGES = 50
MAX_ITEMS = 2_000
MAX_PROBLEMS = 20
RELOAD_PAUSE_S = 0.2
"""Seconds between the announcement of a change and its effect, so that many announcements cost one reload."""
RELOAD_LIMIT_S = 30.0
DESCRIPTION_CHARS = 2_000
URI_CHARS = 2_000
INSTRUCTIONS_CHARS = 4_000

ItemT = TypeVar("ItemT")


class McpResource(Struct, frozen=True):
    """Resource that a server lists."""

    server: str
    """Name of the server."""
    uri: str
    """URI; requests use it unchanged."""
    name: str
    """Name for users."""
    description: str = ""
    """Description; empty: none."""
    media_type: str = ""
    """Media type; empty: unknown."""
    size: int | None = None
    """Size in bytes; None: unknown."""


class McpResourceTemplate(Struct, frozen=True):
    """Pattern of the URIs of resources."""

    server: str
    """Name of the server."""
    uri_template: str
    """URI template of RFC 6570."""
    name: str
    """Name for users."""
    description: str = ""
    """Description; empty: none."""
    media_type: str = ""
    """Media type; empty: unknown."""


class McpPromptArgument(Struct, frozen=True):
    """Argument of a prompt."""

    name: str
    """Name."""
    description: str = ""
    """Description; empty: none."""
    required: bool = False
    """True if the prompt needs it."""


class McpPrompt(Struct, frozen=True):
    """Prompt that a server offers to the user."""

    server: str
    """Name of the server."""
    name: str
    """Name; requests use it unchanged."""
    title: str
    """Name for users."""
    description: str = ""
    """Description; empty: none."""
    arguments: tuple[McpPromptArgument, ...] = ()
    """Arguments."""


class Catalog:
    """Lists of a server. `changed` has the kinds whose lists have to be loaded again."""

    def __init__(self) -> None:
        self.tools: tuple[McpTool, ...] = ()
        self.resources: tuple[McpResource, ...] = ()
        self.templates: tuple[McpResourceTemplate, ...] = ()
        self.prompts: tuple[McpPrompt, ...] = ()
        self.instructions = ""
        self.changed: set[Kind] = set()
        self.has_changed = asyncio.Event()
        self._problems: dict[Kind, list[str]] = {}
        self._loading: Kind = "tools"

    @property
    def problems(self) -> tuple[str, ...]:
        """Entries and lists that were skipped, with the reasons."""
        return tuple(each for kind in KINDS for each in self._problems.get(kind, ()))

    def report(self, problem: str) -> None:
        """Add a problem of the list that is being loaded."""
        found = self._problems.setdefault(self._loading, [])
        if len(found) < MAX_PROBLEMS:
            found.append(clean_line(problem, 300))

    def begin(self, kind: Kind) -> None:
        """Forget the problems of a list before it is loaded."""
        self._loading = kind
        self._problems[kind] = []

    async def on_message(self, message: IncomingMessage) -> None:
        """Note which lists have changed."""
        method = getattr(message, "method", "")
        for kind in KINDS:
            if method == f"notifications/{kind}/list_changed":
                self.announce(kind)

    def announce(self, kind: Kind) -> None:
        """Let a list be loaded again soon."""
        self.changed.add(kind)
        self.has_changed.set()


class CatalogOwner(ToolServer, Protocol):
    """Connection with the lists of its server."""

    catalog: Catalog

    def lists_changed(self) -> None:
        """Report that lists were loaded again."""
        ...


async def load_catalog(connection: CatalogOwner, client: Client) -> None:
    """Load all lists that the server has."""
    connection.catalog.instructions = clean_text(client.instructions or "", INSTRUCTIONS_CHARS)
    connection.catalog.changed.clear()
    for kind in KINDS:
        await _load(connection, client, kind)


async def _load(connection: CatalogOwner, client: Client, kind: Kind) -> None:
    catalog, has, name = connection.catalog, client.server_capabilities, connection.server.name
    catalog.begin(kind)
    match kind:
        case "tools":
            found = await _all(lambda at: client.list_tools(cursor=at), "tools", catalog) if has.tools else _EMPTY
            # Schemas are checked in a thread: this may take long.
            catalog.tools = await asyncio.to_thread(found.replacing, catalog.tools, partial(_tools, connection))
        case "resources":
            listed = patterns = _EMPTY
            if has.resources:
                listed = await _all(lambda at: client.list_resources(cursor=at), "resources", catalog)
                patterns = await _all(
                    lambda at: client.list_resource_templates(cursor=at), "resource_templates", catalog
                )
            catalog.resources = listed.replacing(
                catalog.resources, lambda items: [_resource(name, each) for each in items]
            )
            catalog.templates = patterns.replacing(
                catalog.templates, lambda items: [_template(name, each) for each in items]
            )
        case "prompts":
            found = await _all(lambda at: client.list_prompts(cursor=at), "prompts", catalog) if has.prompts else _EMPTY
            catalog.prompts = found.replacing(catalog.prompts, lambda items: [_prompt(name, each) for each in items])


class _Page(Protocol):
    next_cursor: str | None


class _Listed(Struct, frozen=True):
    """Items of all pages of a list."""

    items: list[Any]
    """The items."""
    is_complete: bool = True
    """False if a page could not be loaded."""

    def replacing(
        self, earlier: tuple[ItemT, ...], convert: Callable[[list[Any]], Sequence[ItemT]]
    ) -> tuple[ItemT, ...]:
        """Return the converted items; of a list that is not complete, the earlier ones, if there are any."""
        return earlier if earlier and not self.is_complete else tuple(convert(self.items))


_EMPTY = _Listed([])


async def _all(fetch: Callable[[str | None], Awaitable[_Page]], field: str, catalog: Catalog) -> _Listed:
    """Return the items of all pages, with bounds; the error of a list becomes a problem."""
    # Imported by now.
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED
    from pydantic import ValidationError

    found: list[Any] = []
    cursors: set[str | None] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await fetch(cursor)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise
            catalog.report(f"the list of {field} could not be loaded: {error.message}")
            return _Listed(found, is_complete=False)
        except ValidationError:
            catalog.report(f"the list of {field} is not valid in the protocol")
            return _Listed(found, is_complete=False)
        found.extend(getattr(page, field))
        cursors.add(cursor)
        cursor = page.next_cursor
        if cursor is None or len(found) > MAX_ITEMS or cursor in cursors:
            break
    if cursor is not None or len(found) > MAX_ITEMS:
        catalog.report(f"the list of {field} does not end; the first {min(len(found), MAX_ITEMS):,} are used")
    return _Listed(found[:MAX_ITEMS])


def _tools(connection: CatalogOwner, found: Sequence[types.Tool]) -> tuple[McpTool, ...]:
    """Return the tools that the configuration selects and that can be used; each with a name of its own."""
    server, tools = connection.server, dict[str, McpTool]()
    for each in found:
        if not _is_selected(each.name, server.tools, server.excluded_tools):
            continue
        try:
            tool = McpTool(connection, each)
        except ConfigError as error:
            connection.catalog.report(f"{clean_line(each.name, 80)} was skipped: {error}")
            continue
        if tool.name in tools:
            connection.catalog.report(f"{clean_line(each.name, 80)} was skipped: another tool has the same name")
        else:
            tools[tool.name] = tool
    return tuple(tools.values())


def _is_selected(name: str, wanted: Sequence[str], unwanted: Sequence[str]) -> bool:
    is_wanted = not wanted or any(fnmatchcase(name, pattern) for pattern in wanted)
    return is_wanted and not any(fnmatchcase(name, pattern) for pattern in unwanted)


def _resource(server: str, each: types.Resource) -> McpResource:
    return McpResource(
        server,
        each.uri,
        clean_line(each.title or each.name),
        clean_text(each.description or "", DESCRIPTION_CHARS),
        clean_line(each.mime_type or ""),
        each.size,
    )


def _template(server: str, each: types.ResourceTemplate) -> McpResourceTemplate:
    return McpResourceTemplate(
        server,
        each.uri_template,
        clean_line(each.title or each.name),
        clean_text(each.description or "", DESCRIPTION_CHARS),
        clean_line(each.mime_type or ""),
    )


def _prompt(server: str, each: types.Prompt) -> McpPrompt:
    arguments = tuple(
        McpPromptArgument(one.name, clean_line(one.description or "", 300), bool(one.required))
        for one in each.arguments or ()
    )
    description = clean_text(each.description or "", DESCRIPTION_CHARS)
    return McpPrompt(server, each.name, clean_line(each.title or each.name), description, arguments)


@asynccontextmanager
async def watch_lists(connection: CatalogOwner, client: Client) -> AsyncGenerator[None]:
    """Load lists again when the server announces a change, until the block ends."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_reload_changed, connection, client)
        tasks.start_soon(_listen, client)
        yield
        tasks.cancel_scope.cancel()


async def _reload_changed(connection: CatalogOwner, client: Client) -> None:
    catalog = connection.catalog
    while True:
        await catalog.has_changed.wait()
        await asyncio.sleep(RELOAD_PAUSE_S)
        catalog.has_changed.clear()
        for kind in tuple(catalog.changed):
            catalog.changed.discard(kind)
            with anyio.move_on_after(RELOAD_LIMIT_S) as limit:
                await _load(connection, client, kind)
            if limit.cancelled_caught:
                catalog.report(f"the list of {kind} could not be loaded within {RELOAD_LIMIT_S:g} s")
        connection.lists_changed()


async def _listen(client: Client) -> None:
    """Subscribe to changes, which servers of protocol version 2026-07-28 announce only on request."""
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    has = client.server_capabilities
    tools, resources, prompts = (bool(each and each.list_changed) for each in (has.tools, has.resources, has.prompts))
    if client.session.initialize_result is not None or not (tools or resources or prompts):
        return
    try:
        async with client.listen(
            tools_list_changed=tools, resources_list_changed=resources, prompts_list_changed=prompts
        ) as changes:
            async for _ in changes:
                pass  # `Catalog.on_message` receives them as well.
    except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
        pass  # The lists stay as they are; requests show whether the connection is lost.
