"""Authorization server and protected MCP server of the official SDK, on two ports of 127.0.0.1."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tools.mcp.server_config import McpAuth, McpServer

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
SUBJECT = "subject-token-of-the-account"


class Accounts:
    """Clients and tokens of the authorization server, in memory. The user consents at once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.lifetime = 3600
        self.consents = True
        self.authorized: list[AuthorizationParams] = []
        self.refreshed = 0
        self.revoked: list[str] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.authorized.append(params)
        if not self.consents:
            raise AuthorizeError("access_denied", "Ada said no")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: object, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: object, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshed += 1
        # Rotation: each refresh token is good for one use.
        del self.refresh[refresh_token.token]
        return self.issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    verify_token = load_access_token

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.revoked.append(token.token)
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe(24)}"
        # Later than `expires_in` says, so that the server's clock never rejects a token in the middle of a test.
        ends = int(time.time()) + max(self.lifetime, 3600)
        self.access[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=ends, resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.lifetime, scope=" ".join(scopes) or None
        )


class OAuthService:
    """The two servers.

    Args:
        registers: Whether clients can register themselves.
        issuer: Issuer in the metadata, if it is not the authorization server's own address.
        json_response: Whether the MCP server answers with JSON instead of a stream.
    """

    def __init__(self, *, registers: bool = True, issuer: str = "", json_response: bool = False) -> None:
        self.accounts = Accounts()
        self.registers = registers
        self.json_response = json_response
        self.required_scopes = ["read"]
        self.exchanges: list[dict[str, str]] = []
        self.exchange_method = "basic"
        self.sockets = [_listening(), _listening()]
        self.authority, resource = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in self.sockets)
        self.issuer = issuer or self.authority
        self.url = f"{resource}/mcp"
        self.challenge = ""
        """WWW-Authenticate header of the next response, with HTTP 403."""
        self.token_response: dict[str, object] | None = None
        """Response of the token endpoint in place of a token."""
        self.waiting, self.proceed = asyncio.Event(), asyncio.Event()
        self.asked_for_token, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()
        with _listening() as free:
            self.free_port: int = free.getsockname()[1]

    def server(self, name: str = "guarded", **auth: Any) -> McpServer:
        return McpServer(name, url=self.url, transport="http", auth=McpAuth(**auth))

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[OAuthService]:
        apps = [self._authorization_server(), self._resource_server()]
        servers = [uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on")) for app in apps]
        async with asyncio.TaskGroup() as group:
            for server, sock in zip(servers, self.sockets, strict=True):
                group.create_task(server.serve([sock]))
            try:
                yield self
            finally:
                for server in servers:
                    server.should_exit = server.force_exit = True

    def _authorization_server(self) -> Any:
        app = Starlette(
            routes=create_auth_routes(
                self.accounts,
                AnyHttpUrl(self.issuer),
                client_registration_options=ClientRegistrationOptions(enabled=self.registers),
                revocation_options=RevocationOptions(enabled=True),
            )
        )
        app.add_route("/exchange", self._exchange, methods=["POST"])

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope.get("path") == "/token":
                self.asked_for_token.set()
                await self.may_answer.wait()
            if self.token_response is not None and scope.get("path") == "/token":
                return await JSONResponse(self.token_response)(scope, receive, send)
            return await app(scope, receive, send)

        return serve

    def _resource_server(self) -> Any:
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(self.authority),
            resource_server_url=AnyHttpUrl(self.url),
            required_scopes=self.required_scopes,
            validate_token_resource=True,
        )
        mcp = MCPServer("guarded", auth=settings, token_verifier=self.accounts)

        @mcp.tool()
        def greet(name: str) -> str:
            """Greet."""
            return f"Hello {name}"

        @mcp.tool()
        async def wait() -> str:
            """Wait."""
            self.waiting.set()
            await self.proceed.wait()
            return "done"

        app = mcp.streamable_http_app(json_response=self.json_response)

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if self.challenge and scope.get("path") == "/mcp":
                headers, self.challenge = {"WWW-Authenticate": self.challenge}, ""
                return await Response(status_code=403, headers=headers)(scope, receive, send)
            return await app(scope, receive, send)

        return serve

    async def _exchange(self, request: Request) -> Response:
        """Exchange a token as in RFC 8693."""
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.exchanges.append(form)
        basic = request.headers.get("authorization", "").startswith("Basic ")
        if basic != (self.exchange_method == "basic"):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] != EXCHANGE or form["subject_token"] != SUBJECT:
            return JSONResponse({"error": "invalid_grant", "error_description": "unknown subject"}, 400)
        token = self.accounts.issue("account", form["scope"].split(), self.url)
        issued = {"access_token": token.access_token, "expires_in": token.expires_in, "token_type": "Bearer"}
        return JSONResponse(issued)


def _listening() -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    # Connections wait until the server has started.
    sock.listen()
    return sock


async def browse(url: str) -> httpx2.Response:
    """Open an address as a browser does, following redirects to the end."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        with suppress(httpx2.ConnectError):
            return await browser.get(url)
    raise AssertionError("the redirect was not received")
