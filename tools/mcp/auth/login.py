"""Login at an MCP server, and logout, without a connection."""

from __future__ import annotations

import httpx2
from mcp_types import LATEST_PROTOCOL_VERSION
from msgspec import Struct

from harness.errors import CinchError, ConfigError
from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.http import TIMEOUT_S, limit_body, refusal
from tools.mcp.auth.oauth import Ask, OAuth
from tools.mcp.auth.stored_oauth import StoredOAuth
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.network import connection_failure
from tools.mcp.server_config import McpServer

SESSION = "mcp-session-id"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "cinch", "version": "0"},
    },
}


class Logout(Struct, frozen=True):
    """Result of a logout."""

    was_logged_in: bool
    """False if no login was stored."""
    problem: str = ""
    """Reason for which the server has not revoked the tokens; empty: it has, or there were none."""


async def login(server: McpServer, tokens: TokenStore, ask: Ask, transport: httpx2.AsyncBaseTransport) -> None:
    """Log in by browser and store the login in place of the former one.

    Args:
        server: Server with a URL and authentication by OAuth.
        tokens: Store of the login.
        ask: Shows the login to the user; see `authentication`.
        transport: Transport to all servers, which is closed.

    Raises:
        AuthError: The login failed, or a server cannot be reached; the former login is kept.
        ConfigError: The server has another kind of authentication, or the login cannot be stored.
    """
    _check_kind(server)
    auth = OAuth(server, tokens, ask, is_forced=True)
    try:
        async with httpx2.AsyncClient(auth=auth, transport=transport, timeout=TIMEOUT_S, trust_env=False) as client:
            await _initialize(server, client)
    except httpx2.HTTPError as error:
        raise AuthError(f"MCP server {server.name}: {connection_failure(error)}") from error


def _check_kind(server: McpServer) -> None:
    if not server.url or server.auth.kind != "oauth":
        kind = f"uses the authentication {server.auth.kind!r}" if server.url else "is a command"
        raise ConfigError(f"MCP server {server.name} {kind} and has no login")


async def _initialize(server: McpServer, client: httpx2.AsyncClient) -> None:
    """Send the first request of a session, and end the session."""
    headers = {**server.headers, "Accept": "application/json, text/event-stream"}
    method, body = ("GET", None) if server.transport == "sse" else ("POST", INITIALIZE)
    # Without the body, which may be a stream without end.
    async with client.stream(method, server.url, headers=headers, json=body) as response:
        session = response.headers.get(SESSION)
    if session:
        await client.request("DELETE", server.url, headers={**headers, SESSION: session})


async def logout(server: McpServer, tokens: TokenStore, transport: httpx2.AsyncBaseTransport) -> Logout:
    """Delete the login, and revoke its tokens if the authorization server offers that.

    Args:
        server: The server.
        tokens: Store of the login.
        transport: Transport to the authorization server, which is closed.

    Raises:
        ConfigError: The login cannot be deleted, or the server has another kind of authentication.
    """
    if not tokens.has_login(server):
        # One of an earlier configuration can be deleted.
        _check_kind(server)
        return Logout(was_logged_in=False)
    async with httpx2.AsyncClient(transport=transport, timeout=TIMEOUT_S, trust_env=False) as client:
        problem = await _Revocation(server, tokens).revoke(client)
    tokens.delete(server)
    return Logout(was_logged_in=True, problem=problem)


class _Revocation(StoredOAuth):
    """Revocation of the stored tokens.

    Source: RFC 7009.
    """

    async def revoke(self, client: httpx2.AsyncClient) -> str:
        """Return what went wrong; empty if the tokens are revoked, or none can be."""
        await self._initialize()
        tokens, metadata = self.context.current_tokens, self.context.oauth_metadata
        if tokens is None or metadata is None or metadata.revocation_endpoint is None:
            return ""
        url = str(metadata.revocation_endpoint)
        problems: list[str] = []
        # The refresh token first: servers revoke the access tokens with it.
        for hint, token in (("refresh_token", tokens.refresh_token), ("access_token", tokens.access_token)):
            if token:
                problems.append(await self._revoke(client, url, {"token": token, "token_type_hint": hint}))
        return next(filter(None, problems), "")

    async def _revoke(self, client: httpx2.AsyncClient, url: str, form: dict[str, str]) -> str:
        if self.context.client_info is not None:
            form["client_id"] = self.context.client_info.client_id
        form, headers = self.context.prepare_token_auth(form, {"Accept-Encoding": "identity"})
        problem = ""
        # Servers of the official SDK require the field, which a client without a secret has not (SDK 2.3).
        for fields in (form, {"client_secret": "", **form}):
            try:
                async with client.stream("POST", url, data=fields, headers=headers) as response:
                    if response.is_success:
                        return ""
                    code, problem = await refusal(limit_body(response))
            except httpx2.HTTPError as error:
                return connection_failure(error)
            except CinchError as error:
                return str(error)
            if code != "invalid_request":
                break
        return problem
