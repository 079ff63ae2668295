"""Login at an MCP server, and logout, without a connection."""

from __future__ import annotations

import httpx2
from mcp_types import LATEST_PROTOCOL_VERSION
from msgspec import Struct

from harness.errors import ConfigError
from tools.mcp.auth.http import limit_body, refusal
from tools.mcp.auth.oauth import Ask, OAuth
from tools.mcp.auth.stored_oauth import StoredOAuth
from tools.mcp.auth.token_store import TokenStore
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


async def login(server: McpServer, tokens: TokenStore, ask: Ask, client: httpx2.AsyncClient) -> None:
    """Log in by browser and store the login in place of the former one.

    Args:
        server: Server with a URL and authentication by OAuth.
        tokens: Store of the login.
        ask: Shows the login to the user; see `authentication`.
        client: HTTP client without authentication.

    Raises:
        AuthError: The login failed; the former one is kept.
        ConfigError: The server has another kind of authentication, or the login cannot be stored.
        httpx2.HTTPError: The server or the authorization server cannot be reached.
    """
    if not server.url or server.auth.kind != "oauth":
        kind = f"authentication {server.auth.kind}" if server.url else "a command"
        raise ConfigError(f"MCP server {server.name} has {kind} and no login")
    auth = OAuth(server, tokens, ask, is_forced=True)
    headers = {**server.headers, "Accept": "application/json, text/event-stream"}
    request = client.build_request("POST", server.url, headers=headers, json=INITIALIZE)
    if server.transport == "sse":
        request = client.build_request("GET", server.url, headers={**headers, "Accept": "text/event-stream"})
    response = await client.send(request, auth=auth, stream=True)
    await response.aclose()
    if session := response.headers.get(SESSION):
        await client.request("DELETE", server.url, headers={**headers, SESSION: session}, auth=auth)


async def logout(server: McpServer, tokens: TokenStore, client: httpx2.AsyncClient) -> Logout:
    """Delete the login, and revoke its tokens if the authorization server offers that.

    Args:
        server: Server with a URL.
        tokens: Store of the login.
        client: HTTP client without authentication.

    Raises:
        ConfigError: The login cannot be deleted.
    """
    if not tokens.has_login(server):
        return Logout(was_logged_in=False)
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
        try:
            response = limit_body(
                await client.send(client.build_request("POST", url, data=form, headers=headers), stream=True)
            )
            try:
                # A server that does not know the token any more has nothing to revoke.
                return "" if response.is_success else (await refusal(response))[1]
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            return f"{httpx2.URL(url).host} cannot be reached ({type(error).__name__})"
