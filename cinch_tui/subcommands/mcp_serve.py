"""`cinch mcp serve`: the tools of cinch as an MCP server."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec.structs import replace

from cinch_tui import __version__
from cinch_tui.cli.arguments import OPTIONS, Arguments, parse_arguments
from cinch_tui.cli.log import start_logging
from cinch_tui.cli.start import prepare
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from harness.errors import ConfigError
from harness.ports.tool import Tool, hosting_of

TOKEN = "CINCH_MCP_TOKEN"
"""Environment variable with the token that HTTP clients must send."""
CONVERSATION_TOOLS = frozenset(
    {
        "recall",
        "todo",
        "ask_user",
        "delegate_subagent",
        "submit_plan",
        "think",
        "prun",
        "prun_with_memo",
        "revert_to_state",
    }
)
"""Tools that belong to a conversation with a model of cinch; they are not offered."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FLAGS = ("--allow", "--ask", "--deny", "--add-dir", "--trust", "--config")
_CLOSING_S = 5.0


class _Arguments(Arguments):
    http: int | None
    tools: str


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Serve until the client closes stdin or the process is signalled, and return the exit status.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    del out
    arguments = _parsed(action, argv, cwd)
    options, settings = prepare(arguments)
    start_logging(options.paths.log_file, verbose=options.verbose)
    for notice in options.notices:
        warn(notice)
    return asyncio.run(_serve(replace(options, uses_servers=False), _served_settings(settings), arguments))


def _parsed(action: str, argv: Sequence[str], cwd: Path) -> _Arguments:
    parser = McpParser(action)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--tools", default="", metavar="GLOBS")
    parser.add_argument("--approval", "--approve", dest="approve")
    for flag in _FLAGS:
        parser.add_argument(flag, **OPTIONS[flag])
    # The arguments of a start in print mode; the model is never called.
    start = ["--print", "--no-session", "--model", "demo/none", "--cwd", str(cwd)]
    arguments = _Arguments(**vars(parse_arguments(start)))
    return parser.parse_args(argv, namespace=arguments)


def _served_settings(settings: Settings) -> Settings:
    return replace(
        settings,
        # A client may repeat calls, and may change files without cinch.
        limits=replace(settings.limits, loop_detection=False),
        tools=replace(settings.tools, cache_entries=0),
        # No model is called.
        providers=replace(settings.providers, fallback=()),
        context=replace(settings.context, model=""),
    )


async def _serve(options: Options, settings: Settings, arguments: _Arguments) -> int:
    # Imported here, since the SDK takes a second: mistakes in the arguments are reported before.
    from cinch_tui.assembly.building import assemble
    from harness.agent.tool_session import ToolSession
    from providers.demo import scripted
    from tools.mcp.serve import ClientApproval, ToolServer, serve_http, serve_stdio

    approval = ClientApproval()
    assembly = await assemble(options, settings, approval, model=scripted())
    for warning in assembly.warnings:
        warn(warning)
    agent = assembly.agent
    # Without those for certain models only: the model of the client is not known.
    tools = _chosen(agent.state.offered(agent.state.tools, agent.state.model.spec), arguments.tools)
    async with ToolSession(agent) as session:
        server = ToolServer(session, tools, approval, __version__, str(assembly.workspace.root))
        agent.subscribe(server.on_event)
        if arguments.http is None:
            serving = asyncio.create_task(serve_stdio(server.server))
        else:
            token = os.environ.get(TOKEN) or secrets.token_urlsafe()
            sys.stderr.write(f"http://127.0.0.1:{arguments.http}/mcp\nAuthorization: Bearer {token}\n")
            serving = asyncio.create_task(serve_http(server.server, arguments.http, token))
        status = await _until_signalled(serving)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_S):
            await agent.close()
    assembly.close()
    if status:
        # The SDK reads stdin in a thread, which would keep the process until the client sends another line.
        os._exit(status)
    return 0


async def _until_signalled(serving: asyncio.Task[None]) -> int:
    """Wait for the end of the server, and return the status: 0, or 128 and the number of the signal."""
    signalled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(
            number, lambda n=number: signalled.done() or signalled.set_result(n)
        )
    await asyncio.wait([serving, signalled], return_when=asyncio.FIRST_COMPLETED)
    if signalled.done():
        return 128 + signalled.result()
    serving.result()
    return 0


def _chosen(tools: Sequence[Tool], globs: str) -> list[Tool]:
    """Return the tools that match one of the globs, separated by commas; without any, all that make sense."""
    # A tool that only the service of a model runs needs a model.
    offered = [tool for tool in tools if tool.name not in CONVERSATION_TOOLS and hosting_of(tool) != "only"]
    patterns = [pattern.strip() for pattern in globs.split(",") if pattern.strip()]
    chosen = [tool for tool in offered if not patterns or any(fnmatchcase(tool.name, each) for each in patterns)]
    if not chosen:
        raise ConfigError(f"--tools: no tool matches {globs!r}; tools: {', '.join(tool.name for tool in offered)}")
    return chosen
