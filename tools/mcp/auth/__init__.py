"""Authentication at MCP servers with a URL: static tokens, OAuth and service accounts.

The SDK and its HTTP library are imported by `authentication`, `login` and `logout` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tools.mcp.server_config import McpServer

if TYPE_CHECKING:
    import httpx2

    from tools.mcp.auth.browser_login import LoginRequest
    from tools.mcp.auth.oauth import OAuth
    from tools.mcp.auth.token_store import TokenStore

    Ask = Callable[[LoginRequest], Awaitable[None]]


async def authentication(server: McpServer, tokens: TokenStore, ask: Ask | None) -> httpx2.Auth | None:
    """Return what authenticates the requests to a server; None without authentication.

    Its requests raise `LoginRequired` if a login is required and `ask` is None, and another `AuthError` if
    authentication fails. They never wait for the user except in `ask`.

    Args:
        server: Server with a URL. An Authorization header among its headers replaces OAuth.
        tokens: Store of logins, which `oauth` uses.
        ask: Shows a login to the user. The login waits for the redirect, not for `ask`, which is cancelled at its end.

    Raises:
        ConfigError: The configuration of a service account is incomplete.
    """
    kind = server.auth.kind
    if kind == "none":
        return None
    if kind == "service_account":
        from tools.mcp.auth.service_account import ServiceAccount

        return ServiceAccount(server)
    if kind == "oauth" and not any(name.lower() == "authorization" for name in server.headers):
        # In a thread: the SDK's part takes 0.1 s, during which the caller's screen would not react.
        return (await asyncio.to_thread(_import_oauth))(server, tokens, ask)
    from tools.mcp.auth.bearer import BearerToken

    return BearerToken(server)


def _import_oauth() -> type[OAuth]:
    from tools.mcp.auth.oauth import OAuth

    return OAuth
