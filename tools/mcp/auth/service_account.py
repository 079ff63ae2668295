"""Service accounts: a configured token is exchanged for access tokens.

Source: RFC 8693, OAuth 2.0 Token Exchange.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator
from typing import Literal, TypeAlias
from urllib.parse import quote

import httpx2
from msgspec import DecodeError
from msgspec.json import decode

from harness.errors import ConfigError
from harness.structs import Redacted
from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.http import bearer, has_origin, is_web_address, limit_body, prepare, refusal
from tools.mcp.server_config import McpServer

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
MARGIN_S = 30.0
"""Seconds before its end at which a token is replaced; at most a tenth of its lifetime."""

ClientMethod: TypeAlias = Literal["basic", "post", "none"]


class _Issued(Redacted, frozen=True):
    _hidden = ("access_token",)

    access_token: str
    expires_in: float | None = None


class ServiceAccount(httpx2.Auth):
    """Exchanges the token with the first request, shortly before it expires, and once after HTTP 401.

    Args:
        server: Server whose `auth` has a token and a token endpoint.

    Raises:
        ConfigError: The configuration is incomplete.
    """

    def __init__(self, server: McpServer) -> None:
        auth = server.auth
        if not auth.token or not is_web_address(auth.token_url):
            raise ConfigError(
                f"MCP server {server.name}: a service account requires token and token_url (http or https)"
            )
        self._server = server
        self._lock = asyncio.Lock()
        self._token = ""
        self._ends = 0.0
        self._methods: tuple[ClientMethod, ...] = ("basic", "post") if auth.client_secret else ("none",)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not has_origin(request.url, self._server.url):
            yield request
            return
        rejected = ""
        for _ in range(2):
            async with self._lock:
                if self._token in ("", rejected) or time.monotonic() >= self._ends:
                    for method in self._methods:
                        response = limit_body((yield prepare(self._exchange(method))))
                        if await self._accept(response, method):
                            break
            request.headers["Authorization"] = bearer(self._token)
            used = self._token
            response = yield request
            if response.status_code != 401:
                return
            rejected = used
        name = self._server.name
        raise AuthError(f"MCP server {name} rejected a new token of the service account (HTTP 401); check its audience")

    def _exchange(self, method: ClientMethod) -> httpx2.Request:
        auth = self._server.auth
        form = {
            "grant_type": GRANT,
            "subject_token": auth.token,
            "subject_token_type": ACCESS_TOKEN,
            "requested_token_type": ACCESS_TOKEN,
            "audience": auth.audience,
            "resource": "" if auth.audience else self._server.url,
            "scope": " ".join(auth.scopes),
        }
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if method == "basic":
            # RFC 6749, 2.3.1: both parts are encoded before they are joined.
            pair = f"{quote(auth.client_id, safe='')}:{quote(auth.client_secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": auth.client_id, "client_secret": auth.client_secret}
        form = {name: value for name, value in form.items() if value}
        return httpx2.Request("POST", auth.token_url, data=form, headers=headers)

    async def _accept(self, response: httpx2.Response, method: ClientMethod) -> bool:
        """Keep the token of a response; return False if the client should authenticate in another way."""
        if response.status_code != 200:
            code, reason = await refusal(response)
            if code == "invalid_client" and method != self._methods[-1]:
                return False
            raise self._failure(reason)
        try:
            issued = decode(await response.aread(), type=_Issued)
        except (DecodeError, ValueError):
            issued = None
        if issued is None or not issued.access_token:
            # Outside the except clause, whose exception may quote the token.
            raise self._failure("the response contains no token")
        lifetime = issued.expires_in
        self._ends = float("inf") if lifetime is None else time.monotonic() + lifetime - min(MARGIN_S, lifetime / 10)
        self._token = issued.access_token
        self._methods = (method,)
        return True

    def _failure(self, reason: str) -> AuthError:
        host = httpx2.URL(self._server.auth.token_url).host
        return AuthError(f"MCP server {self._server.name}: {host} did not exchange the token: {reason}")
