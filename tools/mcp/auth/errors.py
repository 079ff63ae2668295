"""Errors of authentication at MCP servers."""

from __future__ import annotations

import shlex

from harness.errors import CinchError


class AuthError(CinchError):
    """Authentication at an MCP server failed; the text names the server and contains no token."""


class LoginFailed(AuthError):
    """A login ended without tokens: it was denied, cancelled, took too long or was not safe."""


class LoginRequired(AuthError):
    """The server requires a login by browser, and no user can be asked now."""

    def __init__(self, server: str, reason: str = "requires a login") -> None:
        super().__init__(f"MCP server {server} {reason}; run cinch mcp login {shlex.quote(server)}")
        self.server = server
