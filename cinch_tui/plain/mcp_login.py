"""Login at an MCP server in plain mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.plain.menus import InputClosed
from cinch_tui.terminal.desktop import open_in_browser
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.plain.menus import Menus
    from tools.mcp.auth.browser_login import LoginRequest

CANCEL = "cancel"


async def show_login(menus: Menus, request: LoginRequest) -> None:
    """Print the address, and read lines until the login has ended.

    An empty line opens the browser; a pasted address completes the login, if the browser runs on another machine.
    """
    warning = "" if request.is_encrypted else "\nThe connection to this page is not encrypted."
    menus.writer.write("Login", f"Log in to {request.server} at {request.host}:\n{request.url}{warning}")
    menus.writer.notice(f"Enter opens this page in your browser; {CANCEL} cancels.")
    menus.writer.notice("If the browser runs on another machine, paste the address to which it is redirected.")
    while True:
        try:
            line = (await menus.line("Address: ", opens=True)).strip()
        except InputClosed:
            request.cancel()
            return
        if line == CANCEL:
            request.cancel()
            return
        if not line and not open_in_browser(request.url):
            menus.writer.notice("There is no browser on this machine; open the page on another one.", "warning")
        elif line:
            try:
                request.paste(line)
            except CinchError as error:
                menus.writer.notice(f"{error}.", "warning")
