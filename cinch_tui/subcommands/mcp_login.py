"""`cinch mcp login` and `cinch mcp logout`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cinch_tui.mcp_servers import login_store
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from cinch_tui.subcommands.mcp_files import server_files
from cinch_tui.terminal.desktop import open_in_browser
from harness.errors import CinchError, ConfigError
from tools.mcp.server_config import McpServer

if TYPE_CHECKING:
    from tools.mcp.auth.browser_login import LoginRequest
    from tools.mcp.auth.token_store import TokenStore


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status.

    Raises:
        ConfigError: the server does not exist, or cannot be logged in to.
        AuthError: the login failed.
    """
    parser = McpParser(action)
    parser.add_argument("name")
    files = server_files(cwd, out)
    server = files.find(parser.parse_args(argv).name)
    if action == "login" and not server.enabled:
        raise ConfigError(f"MCP server {server.name} is disabled; cinch mcp enable {server.name}")
    act = _login if action == "login" else _logout
    asyncio.run(act(server, login_store(files.options), out))
    return 0


async def _login(server: McpServer, tokens: TokenStore, out: Output) -> None:
    from tools.mcp.auth.login import login
    from tools.mcp.network import NetworkTransport

    await login(server, tokens, _Terminal(out).ask, NetworkTransport(os.environ))
    out.write_text(f"Logged in to {server.name}.")


async def _logout(server: McpServer, tokens: TokenStore, out: Output) -> None:
    from tools.mcp.auth.login import logout
    from tools.mcp.network import NetworkTransport

    result = await logout(server, tokens, NetworkTransport(os.environ))
    if result.problem:
        warn(f"the tokens of {server.name} were deleted here but not revoked: {result.problem}")
    out.write_text(f"Logged out of {server.name}." if result.was_logged_in else f"There is no login for {server.name}.")


class _Terminal:
    """Shows the address of a login, and reads the terminal until it has ended."""

    def __init__(self, out: Output) -> None:
        self._out = out

    async def ask(self, request: LoginRequest) -> None:
        write = self._out.write_text
        write(f"Log in to {request.server} at {request.host}:\n\n{request.url}\n")
        if not request.is_encrypted:
            write("The connection to this page is not encrypted.\n")
        if not sys.stdin.isatty():
            open_in_browser(request.url)
            return
        write("Press Enter to open this page in your browser, or open it yourself.")
        write("If the browser runs on another machine, paste the address here to which it is redirected.")
        while line := await _read_line():
            self._answer(line.strip(), request)

    def _answer(self, line: str, request: LoginRequest) -> None:
        if not line:
            if not open_in_browser(request.url):
                self._out.write_text("There is no browser on this machine; open the page on another one.")
            return
        try:
            request.paste(line)
        except CinchError as error:
            self._out.write_text(f"{error}.")


async def _read_line() -> str:
    """Return the next line of the terminal; empty at its end."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(sys.stdin)
        line.set_result(os.read(sys.stdin.fileno(), 65536).decode(errors="replace"))

    # A thread would keep the process waiting for a line after the login.
    loop.add_reader(sys.stdin, read)
    try:
        return await line
    finally:
        loop.remove_reader(sys.stdin)
