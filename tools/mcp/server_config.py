"""Configuration of MCP servers, whichever file it comes from."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import field

from harness.structs import Redacted

Transport: TypeAlias = Literal["stdio", "http", "sse"]
AuthKind: TypeAlias = Literal["none", "bearer", "oauth", "service_account"]


class McpAuth(Redacted, frozen=True):
    """Authentication at a remote server."""

    _hidden = ("token", "client_secret")

    kind: AuthKind = "oauth"
    """`oauth` asks for a login once the server requires one."""
    token: str = ""
    """Static token; for a service account, the token to exchange."""
    client_id: str = ""
    """Client registered by hand; empty: dynamic registration."""
    client_secret: str = ""
    """Secret of the client."""
    scopes: tuple[str, ...] = ()
    """Scopes to request; empty: those that the server names."""
    token_url: str = ""
    """Token endpoint for a service account."""
    audience: str = ""
    """Audience of the exchanged token."""
    redirect_port: int = 0
    """Port of the redirect after a login; 0: any free one."""


class McpServer(Redacted, frozen=True):
    """An MCP server: a command to start, or an address."""

    _hidden = ("args", "env", "url", "headers")

    name: str
    """Name in tool names, rules and commands."""
    command: str = ""
    """Program of a stdio server."""
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """Environment variables of the program, in addition to a few harmless ones of this process."""
    cwd: str = ""
    """Folder of the program; empty: the workspace."""
    url: str = ""
    """Address of a remote server."""
    transport: Transport = "stdio"
    """`http` is streamable HTTP and falls back to SSE."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers of every request."""
    auth: McpAuth = McpAuth()
    """Authentication at a remote server."""
    enabled: bool = True
    """False to keep the server configured without starting it."""
    tools: tuple[str, ...] = ()
    """Tools to offer, as names or globs; empty: all."""
    excluded_tools: tuple[str, ...] = ()
    """Tools not to offer, as names or globs."""
    timeout: float = 60.0
    """Seconds without progress after which a call fails; 0: unlimited."""
    connect_timeout: float = 30.0
    """Seconds for start and handshake."""
    source: str = ""
    """File that the server comes from, for display."""
    target: str = ""
    """Command or address with `${VAR}` not expanded, for display; empty while nothing is expanded."""
    problem: str = ""
    """Reason why a disabled server cannot be started, as the end of a sentence about it; empty if it can."""
