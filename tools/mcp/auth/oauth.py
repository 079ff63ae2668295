"""OAuth for the requests to an MCP server.

The official SDK discovers the authorization server, registers the client and gets tokens with PKCE (S256). This module
decides when: it refreshes a token before it asks the user, and locks nothing during a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
from anyio import CancelScope
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from msgspec import Struct

from harness.errors import CinchError
from tools.mcp.auth.browser_login import LoginRequest, RedirectListener
from tools.mcp.auth.errors import LoginFailed, LoginRequired
from tools.mcp.auth.http import has_origin, is_web_address, limit_body, prepare, printable
from tools.mcp.auth.stored_oauth import StoredOAuth, client_metadata
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.server_config import McpServer

PROTOCOL_VERSION = "mcp-protocol-version"

Ask: TypeAlias = Callable[[LoginRequest], Awaitable[None]]
"""Shows a login to the user. The login ends when the browser is redirected, whether this has returned or not; it is
cancelled then."""
Flow: TypeAlias = AsyncGenerator[httpx2.Request, httpx2.Response]


class _Attempt(Struct):
    """A request with the latest response of the server."""

    request: httpx2.Request
    response: httpx2.Response | None = None


class OAuth(StoredOAuth):
    """OAuth for all requests to one server.

    Args:
        server: Server with a URL.
        tokens: Store of logins.
        ask: Shows a login to the user; None to raise `LoginRequired` instead.
        is_forced: True to ignore the stored tokens, and to log in whether or not the server requires it.
    """

    def __init__(self, server: McpServer, tokens: TokenStore, ask: Ask | None, *, is_forced: bool = False) -> None:
        super().__init__(server, tokens, is_forced=is_forced)
        self.context.redirect_handler = self._note_address
        self.context.callback_handler = self._wait_for_redirect
        self._ask = ask
        self._login_lock = asyncio.Lock()
        self._listener: RedirectListener | None = None
        self._address = ""

    async def _auth_flow(self, request: httpx2.Request) -> Flow:
        if not has_origin(request.url, self._server.url):
            yield request
            return
        self.context.protocol_version = request.headers.get(PROTOCOL_VERSION)
        attempt = _Attempt(request)
        for flow in (self._send(attempt), self._log_in(attempt)):
            try:
                outgoing = await anext(flow)
                while True:
                    outgoing = await flow.asend((yield outgoing))
            except StopAsyncIteration:
                if not self._demands_login(attempt):
                    return
            finally:
                await flow.aclose()
        raise LoginFailed(f"MCP server {self._server.name} rejected the new token; the account may lack permissions")

    async def _send(self, attempt: _Attempt) -> Flow:
        """Send the request; after HTTP 401 once more with a refreshed token."""
        token = ""
        while True:
            async with self.context.lock:
                if not self._initialized:
                    await self._initialize()
                if self._needs_refresh(token):
                    async with self._tokens.lock(self._server):
                        if refresh := await self._start_refresh(token):
                            # The server may replace the refresh token, so a cancelled call must not lose the response.
                            with CancelScope(shield=True):
                                await self._handle_refresh_response(limit_body((yield prepare(refresh))))
            rejected, token = token, self._authorize(attempt.request)
            if rejected and token in ("", rejected):
                return
            attempt.response = yield attempt.request
            if attempt.response.status_code == 401:
                limit_body(attempt.response)
            if attempt.response.status_code != 401 or rejected or not token:
                return

    def _demands_login(self, attempt: _Attempt) -> bool:
        response = attempt.response
        if response is None:
            return False
        return self._is_forced or response.status_code == 401 or _lacks_scope(response)

    async def _log_in(self, attempt: _Attempt) -> Flow:
        """Log in and send the request again, unless another task has logged in meanwhile.

        Raises:
            LoginRequired: No user can be asked.
            LoginFailed: The login ended without tokens.
        """
        if self._ask is None:
            raise await self._login_required(attempt)
        sent = attempt.request.headers.get("Authorization")
        async with self._login_lock:
            self._authorize(attempt.request)
            if attempt.request.headers.get("Authorization") != sent:
                attempt.response = yield attempt.request
                if not self._demands_login(attempt):
                    return
            flow = self._get_tokens(attempt)
            try:
                outgoing = await anext(flow)
                while True:
                    outgoing = await flow.asend((yield outgoing))
            except StopAsyncIteration:
                self._is_forced = False
            finally:
                await flow.aclose()

    async def _get_tokens(self, attempt: _Attempt) -> Flow:
        """Run the SDK's flow, which ends with the request; the former login is restored if it fails."""
        request, before = attempt.request, self._current_login()
        challenge = self._challenge(attempt)
        async with RedirectListener(self._server.auth.redirect_port) as self._listener:
            self.context.client_metadata = client_metadata(self._server, self._listener.url)
            # A registration names the port of its redirect, so a former one is of no use.
            self.context.client_info = self.configured_client()
            flow = super()._auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    if outgoing is not request:
                        answer = limit_body((yield prepare(outgoing)))
                    elif challenge is not None:
                        # The SDK begins with the request, whose response is known.
                        answer, challenge = challenge, None
                    else:
                        attempt.response = answer = yield request
                    outgoing = await flow.asend(answer)
            except StopAsyncIteration:
                return
            except (OAuthFlowError, ValueError, httpx2.InvalidURL) as error:
                problem = self._problem(error, attempt)
            except BaseException:
                self._adopt(before)
                raise
            finally:
                await flow.aclose()
        self._adopt(before)
        # Outside the except clause, whose exception may quote tokens.
        raise LoginFailed(f"MCP server {self._server.name}: {problem}")

    def _problem(self, error: Exception, attempt: _Attempt) -> str:
        is_needless = attempt.response is not None and attempt.response.status_code not in (401, 403)
        return f"the server requires no login, and {_reason(error)}" if is_needless else _reason(error)

    def _challenge(self, attempt: _Attempt) -> httpx2.Response | None:
        """Return the response that the SDK reads: it names the scopes to request."""
        response = attempt.response
        if response is None or (not self._is_forced and _lacks_scope(response)):
            return response
        scope = " ".join(self._server.auth.scopes) or extract_scope_from_www_auth(response)
        fields = {
            "resource_metadata": extract_resource_metadata_from_www_auth(response),
            "scope": union_scopes(scope, self._required_scope),
        }
        value = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        return httpx2.Response(401, headers={"WWW-Authenticate": f"Bearer {value}"}, request=attempt.request)

    async def _login_required(self, attempt: _Attempt) -> LoginRequired:
        response, tokens = attempt.response, self.context.current_tokens
        if response is None or not _lacks_scope(response):
            return LoginRequired(self._server.name)
        scope = extract_scope_from_www_auth(response)
        self._required_scope = union_scopes(tokens.scope if tokens else None, scope) or ""
        await self._save()
        return LoginRequired(
            self._server.name, f"requires a login with further scopes ({printable(scope or 'unnamed')})"
        )

    async def _note_address(self, address: str) -> None:
        endpoint, _, query = address.partition("?")
        # The SDK appends its parameters to an endpoint that has some.
        self._address = f"{endpoint}?{query.replace('?', '&', 1)}"
        if not is_web_address(self._address):
            raise LoginFailed(f"MCP server {self._server.name}: the login page {printable(endpoint)} is no web address")
        metadata = self.context.oauth_metadata
        methods = metadata.code_challenge_methods_supported if metadata else None
        if methods is not None and "S256" not in methods:
            raise LoginFailed(f"MCP server {self._server.name}: {_host(self._address)} does not support PKCE with S256")

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        assert self._listener is not None
        assert self._ask is not None
        listener, name = self._listener, self._server.name
        listener.expect(parse_qs(urlsplit(self._address).query)["state"][0])
        request = LoginRequest(name, self._address, listener)
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(_show(self._ask, request, listener))
            outcome = await listener.wait()
            asking.cancel()
        if isinstance(outcome, LoginFailed):
            raise LoginFailed(f"MCP server {name}: {outcome}")
        if outcome.error:
            raise LoginFailed(f"MCP server {name}: {request.host} denied the login: {outcome.error}")
        return AuthorizationCodeResult(code=outcome.code, state=outcome.state, iss=outcome.issuer)


async def _show(ask: Ask, request: LoginRequest, listener: RedirectListener) -> None:
    try:
        await ask(request)
    except CinchError as error:
        listener.finish(LoginFailed(str(error)))


def _lacks_scope(response: httpx2.Response) -> bool:
    return response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _reason(error: Exception) -> str:
    """Return the error for the user, without the responses of the token endpoint that the SDK quotes."""
    text = str(error)
    if isinstance(error, OAuthRegistrationError) and text.startswith("Registration failed"):
        hint = "configure a client_id that the service has issued, or another kind of authentication"
        return f"the client could not be registered ({printable(text)}); {hint}"
    if not isinstance(error, OAuthFlowError) or text.startswith("Invalid"):
        return "the authorization server sent an invalid response"
    if isinstance(error, OAuthTokenError):
        # "Token exchange failed (400): " and the response.
        return f"{printable(text.partition(':')[0])}: the authorization server issued no token"
    return printable(text)
