"""`cinch mcp test`, and the connections of `cinch mcp list --check`."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui import __version__
from cinch_tui.mcp_servers import login_store
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser
from cinch_tui.subcommands.mcp_files import server_files
from cinch_tui.web_options import secret_variables
from harness.context.tokens import estimate_overhead
from harness.messages import JsonObject
from harness.ports.tool import Tool, specs_of
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer
from tools.mcp.servers import McpServers

if TYPE_CHECKING:
    from cinch_tui.config.options import Options
    from tools.mcp.state import ServerState

_MARGIN_S = 5.0
_SHOWN_LOG = 10
_SHOWN_DESCRIPTION = 70


class CheckedServer(Struct, frozen=True):
    """Result of one connection."""

    state: ServerState
    """State of the server."""
    seconds: float
    """Time until it was known."""

    @property
    def is_connected(self) -> bool:
        """True if the tools of the server can be called."""
        return self.state.phase == "connected"

    @property
    def summary(self) -> str:
        """The state in one line."""
        state = self.state
        match state.phase:
            case "connected":
                return f"connected in {self.seconds:.1f} s, {_count(len(state.tools), 'tool')}"
            case "needs_login":
                return f"needs a login: cinch mcp login {state.server.name}"
            case "off":
                return "disabled"
            case _:
                return f"failed: {state.reason or 'no connection in time'}"


@asynccontextmanager
async def connected(servers: Sequence[McpServer], options: Options) -> AsyncGenerator[McpServers]:
    """Connect to servers until each is connected or has failed, and disconnect at the end."""
    from tools.mcp.auth import authentication

    tokens = login_store(options)
    with tempfile.TemporaryDirectory(prefix="cinch-mcp-") as folder:
        host = McpHost(
            root=options.cwd,
            spill_dir=Path(folder),
            roots=lambda: (options.cwd,),
            environment=options.environ,
            secrets=secret_variables,
            authenticate=lambda server: authentication(server, tokens, None),
            version=__version__,
        )
        manager = McpServers(servers, host)
        manager.start()
        try:
            yield manager
        finally:
            await manager.close()


async def check_all(servers: Sequence[McpServer], options: Options) -> dict[str, CheckedServer]:
    """Connect to all servers at the same time, and return the results by name."""
    async with connected(servers, options) as manager:
        results = await asyncio.gather(*(_settled(manager, each) for each in servers))
    return {server.name: result for server, result in zip(servers, results, strict=True)}


async def _settled(manager: McpServers, server: McpServer) -> CheckedServer:
    """Wait until a server is connected or has failed."""
    changed = asyncio.Event()
    stop = manager.on_change(changed.set)
    started = time.monotonic()
    limit = started + server.connect_timeout + _MARGIN_S
    try:
        while True:
            changed.clear()
            state = next(each for each in manager.states() if each.server.name == server.name)
            seconds = time.monotonic() - started
            if state.phase not in ("connecting", "reconnecting") or time.monotonic() >= limit:
                return CheckedServer(state, seconds)
            try:
                async with asyncio.timeout(limit - time.monotonic()):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        stop()


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Connect to one server, print what it offers, and return the exit status: 1 if it is not connected.

    Raises:
        ConfigError: the arguments or the configuration are invalid, or there is no such server.
    """
    parser = McpParser(action)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    files = server_files(cwd, out)
    # A disabled server can be tested before it is enabled.
    server = replace(files.find(arguments.name), enabled=True)
    report = asyncio.run(_report(server, files.options))
    if arguments.json:
        out.write_json(report.record)
    else:
        out.write_text("\n".join(report.lines()))
    return 0 if report.checked.is_connected else 1


class _Report(Struct, frozen=True):
    checked: CheckedServer
    tools: tuple[tuple[Tool, int], ...]
    """Tools with their price in tokens."""
    resources: tuple[str, ...]
    prompts: tuple[str, ...]

    @property
    def record(self) -> JsonObject:
        state = self.checked.state
        return {
            "name": state.server.name,
            "state": state.phase,
            "reason": state.reason,
            "seconds": round(self.checked.seconds, 3),
            "server": state.title,
            "tools": [{"name": tool.name, "tokens": tokens} for tool, tokens in self.tools],
            "resources": list(self.resources),
            "prompts": list(self.prompts),
            "problems": list(state.problems),
            "log": list(state.log),
        }

    def lines(self) -> Iterator[str]:
        state = self.checked.state
        yield f"{state.server.name}: {self.checked.summary}"
        if state.title:
            yield f"server: {state.title}"
        if self.checked.is_connected:
            yield from self._offers()
        for problem in state.problems:
            yield f"not used: {problem}"
        if not self.checked.is_connected and state.log:
            yield "log of the server:"
            yield from (f"  {line}" for line in state.log[-_SHOWN_LOG:])

    def _offers(self) -> Iterator[str]:
        total = sum(tokens for _, tokens in self.tools)
        yield f"tools: {len(self.tools)}, about {total:,} tokens" if self.tools else "tools: none"
        width = max((len(tool.name) for tool, _ in self.tools), default=0)
        for tool, tokens in self.tools:
            description = " ".join(tool.description.split())[:_SHOWN_DESCRIPTION]
            yield f"  {tool.name:<{width}}  {tokens:>5,}  {description}".rstrip()
        yield f"resources: {', '.join(self.resources) or 'none'}"
        yield f"prompts: {', '.join(self.prompts) or 'none'}"


async def _report(server: McpServer, options: Options) -> _Report:
    async with connected([server], options) as manager:
        checked = await _settled(manager, server)
        without = estimate_overhead("", ())
        tools = tuple((tool, estimate_overhead("", specs_of([tool])) - without) for tool in manager.tools())
        resources = (
            *(each.uri for each in manager.resources()),
            *(each.uri_template for each in manager.resource_templates()),
        )
        return _Report(checked, tools, resources, tuple(each.name for each in manager.prompts()))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
