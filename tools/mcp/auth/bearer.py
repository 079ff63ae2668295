"""Authentication with a configured token."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2

from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.http import bearer, has_origin
from tools.mcp.server_config import McpServer


class BearerToken(httpx2.Auth):
    """Sends a token to the server, and explains a rejection.

    Args:
        server: Server with a token, or with an Authorization header, which is left as it is.
    """

    def __init__(self, server: McpServer) -> None:
        self._server = server

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        server = self._server
        if server.auth.token and has_origin(request.url, server.url):
            request.headers["Authorization"] = bearer(server.auth.token)
        response = yield request
        if response.status_code == 401:
            sent = "token" if server.auth.token else "Authorization header"
            where = f" in {server.source}" if server.source else ""
            raise AuthError(f"MCP server {server.name} rejected the {sent} (HTTP 401); check it{where}")
