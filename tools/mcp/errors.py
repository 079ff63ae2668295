"""Errors of connections to MCP servers, explained to the user."""

from __future__ import annotations

import http.client
from typing import cast
from urllib.parse import urlsplit

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED
from msgspec import Struct
from pydantic import ValidationError

from harness.errors import CinchError
from tools.mcp.network import connection_failure
from tools.mcp.server_config import McpServer

WITHOUT_TEXT = "Server returned an error response"
"""Message of the SDK for an HTTP error whose body it cannot read."""


class Failure(Struct, frozen=True):
    """End of an attempt to connect, or of a connection."""

    reason: str
    """Reason for the user."""
    was_connected: bool = False
    """True if the handshake had succeeded."""
    needs_login: bool = False
    """True if the server requires a login."""
    is_final: bool = False
    """True if another attempt would fail as well."""


def is_lost(error: MCPError, status: int) -> bool:
    """Return True if the connection or the session of the request has ended.

    Args:
        error: The error.
        status: HTTP status of the latest response, if any.
    """
    # Servers that were restarted answer 404, or 400 with a text such as "No valid session ID provided", which the SDK
    # replaces if it is not in its format.
    is_unknown = status in (400, 404) and ("session" in error.message.lower() or error.message == WITHOUT_TEXT)
    return error.code == CONNECTION_CLOSED or is_unknown


def explain(error: BaseException, server: McpServer, status: int = 0) -> str:
    """Return why a connection failed.

    Args:
        error: The exception.
        server: The server.
        status: HTTP status of the latest response, if any.
    """
    if isinstance(error, CinchError):
        return str(error)
    if server.url:
        return f"HTTP {status} {_phrase(status)}".strip() if status >= 400 else _network_error(error, server)
    match error:
        case TimeoutError():
            return str(error)
        case FileNotFoundError():
            return f"{error.filename or server.command} does not exist; check command and cwd"
        case OSError():
            return f"{server.command} cannot be started: {error.strerror or error}"
        case _:
            return _protocol_error(error)


def _network_error(error: BaseException, server: McpServer) -> str:
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError() | httpx2.UnsupportedProtocol():
            return connection_failure(error)
        case httpx2.TransportError():
            return f"the connection to {_host(server)} was closed early ({type(error).__name__})"
        case _:
            return _protocol_error(error)


def _protocol_error(error: BaseException) -> str:
    match error:
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            return "the server ended the connection before the handshake was complete"
        case ValidationError():
            return "the server sent an answer that is not valid in the protocol"
        case _:
            return str(error) or type(error).__name__


def first_cause(error: BaseException) -> BaseException:
    """Return the first member of an exception group, or the exception itself."""
    members = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
    return first_cause(members[0]) if members else error


def _phrase(status: int) -> str:
    return http.client.responses.get(status, "")


def _host(server: McpServer) -> str:
    return urlsplit(server.url).netloc.rpartition("@")[2]
