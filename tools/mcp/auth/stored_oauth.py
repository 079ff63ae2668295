"""OAuth client of the official SDK with a stored login, which is refreshed where the SDK would start a new one."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TypeVar

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from harness.errors import ConfigError
from harness.messages import JsonObject
from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.http import bearer, refusal
from tools.mcp.auth.token_store import Login, TokenStore
from tools.mcp.server_config import McpServer

MARGIN_S = 60.0
"""Seconds before its end at which a token is refreshed; at most a tenth of its lifetime."""
PLACEHOLDER = "http://127.0.0.1/callback"
"""Redirect of a client that does not log in."""
REJECTIONS = ("invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope")
"""Errors of a token endpoint (RFC 6749, 5.2) after which only a new login helps."""

M = TypeVar("M", bound=BaseModel)

logger = logging.getLogger(__name__)
# The SDK logs failures with responses of the token endpoint.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)


class StoredOAuth(OAuthClientProvider):
    """OAuth client of one server.

    The SDK's own storage has neither expiry times nor metadata, without which a new process can refresh nothing.

    Args:
        server: Server with a URL.
        tokens: Store of logins.
        is_forced: True to ignore the stored tokens.
    """

    def __init__(self, server: McpServer, tokens: TokenStore, *, is_forced: bool = False) -> None:
        own = server.auth.client_id
        super().__init__(
            server.url,
            client_metadata(server, PLACEHOLDER),
            _NoStorage(),
            client_metadata_url=own if is_valid_client_metadata_url(own) else None,
        )
        self._server = server
        self._tokens = tokens
        self._is_forced = is_forced
        self._stored: Login | None = None
        self._required_scope = ""

    async def _initialize(self) -> None:
        self._stored = await self._load()
        stored = self._stored or Login()
        self._adopt(Login(required_scope=stored.required_scope) if self._is_forced else stored)
        self._initialized = True

    async def _load(self) -> Login | None:
        login = await asyncio.to_thread(self._tokens.load, self._server)
        own = self.configured_client()
        # Tokens of another client cannot be refreshed.
        return login if login is None or own is None or own.client_id == login.client.get("client_id") else None

    async def _save(self) -> None:
        """Store the login.

        Raises:
            AuthError: The token cannot be sent.
            ConfigError: It cannot be stored, and was requested by the user.
        """
        if self.context.current_tokens is not None:
            bearer(self.context.current_tokens.access_token)
        self._stored = self._current_login()
        try:
            await asyncio.to_thread(self._tokens.save, self._server, self._stored)
        except ConfigError as error:
            if self._is_forced:
                raise
            # The tokens are valid in this process.
            logger.warning("%s", error)

    def _adopt(self, login: Login) -> None:
        context = self.context
        context.current_tokens = _model(OAuthToken, login.tokens)
        context.token_expiry_time = login.expires_at or None
        context.oauth_metadata = _model(OAuthMetadata, login.authorization_server)
        context.protected_resource_metadata = resource = _model(ProtectedResourceMetadata, login.resource)
        context.auth_server_url = str(resource.authorization_servers[0]) if resource else None
        context.client_info = self.configured_client() or _model(OAuthClientInformationFull, login.client)
        self._required_scope = login.required_scope

    def _current_login(self) -> Login:
        context, own = self.context, self.configured_client()
        return Login(
            tokens=_json(context.current_tokens),
            expires_at=context.token_expiry_time or 0.0,
            # A configured secret stays in the configuration.
            client={"client_id": own.client_id} if own else _json(context.client_info),
            authorization_server=_json(context.oauth_metadata),
            resource=_json(context.protected_resource_metadata),
            required_scope=self._required_scope,
        )

    def configured_client(self) -> OAuthClientInformationFull | None:
        """Return the client of the configuration; None if the client registers itself or has a metadata document."""
        auth, metadata = self._server.auth, self.context.oauth_metadata
        if not auth.client_id or self.context.client_metadata_url:
            return None
        offered = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ["client_secret_basic"]
        method = "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"
        return OAuthClientInformationFull(
            client_id=auth.client_id,
            client_secret=auth.client_secret or None,
            token_endpoint_auth_method=method if auth.client_secret else "none",
        )

    def _authorize(self, request: httpx2.Request) -> str:
        """Set or remove the Authorization header; return the token, or an empty string."""
        tokens = self.context.current_tokens
        request.headers.pop("Authorization", None)
        if tokens is None:
            return ""
        request.headers["Authorization"] = bearer(tokens.access_token)
        return tokens.access_token

    def _add_auth_header(self, request: httpx2.Request) -> None:
        self._authorize(request)

    def _needs_refresh(self, rejected: str) -> bool:
        """Return True if the access token ends soon, or is the one that the server rejected."""
        tokens, ends = self.context.current_tokens, self.context.token_expiry_time
        if tokens is None:
            return False
        margin = min(MARGIN_S, (tokens.expires_in or 0) / 10)
        return tokens.access_token == rejected or (ends is not None and time.time() >= ends - margin)

    async def _start_refresh(self, rejected: str) -> httpx2.Request | None:
        """Return the request for new tokens; None without a refresh token, or if another process has renewed them."""
        await self._take_over_changes()
        is_due = self._needs_refresh(rejected)
        return await self._refresh_token() if is_due and self.context.can_refresh_token() else None

    async def _take_over_changes(self) -> bool:
        """Adopt the login that another process has stored meanwhile; return False if there is no other."""
        stored = await self._load()
        if stored == self._stored:
            return False
        self._stored = stored
        self._adopt(stored or Login())
        return True

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """Take over new tokens; return False, without tokens, if the authorization server rejected the refresh token.

        Raises:
            AuthError: The authorization server failed for another reason; the login is kept.
        """
        before = self._current_login()
        if response.status_code == 200 and await super()._handle_refresh_response(response):
            try:
                await self._save()
            except AuthError:
                self._adopt(before)
                raise
            return True
        self._adopt(before)
        name, host = self._server.name, response.request.url.host
        code, reason = await refusal(response)
        if code not in REJECTIONS:
            raise AuthError(f"MCP server {name}: {host} did not refresh the login: {reason}; try again later")
        logger.info("MCP server %s: the refresh token was rejected: %s", name, reason)
        if not await self._take_over_changes():
            self.context.clear_tokens()
            await self._save()
        return self.context.current_tokens is not None

    async def _perform_authorization(self) -> httpx2.Request:
        # The authorization server's metadata, known by now, say how a client with a secret authenticates.
        self.context.client_info = self.configured_client() or self.context.client_info
        return await super()._perform_authorization()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        self._required_scope = ""
        await self._save()


class _NoStorage:
    """Storage that is not used by the SDK."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        del tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        del client_info


def client_metadata(server: McpServer, redirect_url: str) -> OAuthClientMetadata:
    """Return what the client registers: a native application without a secret."""
    return OAuthClientMetadata(
        client_name="cinch",
        redirect_uris=[AnyUrl(redirect_url)],
        token_endpoint_auth_method="none",
        scope=" ".join(server.auth.scopes) or None,
    )


def _model(kind: type[M], value: JsonObject) -> M | None:
    try:
        return kind.model_validate(value) if value else None
    except ValidationError:
        return None


def _json(model: BaseModel | None) -> JsonObject:
    return model.model_dump(mode="json", exclude_none=True) if model else {}
