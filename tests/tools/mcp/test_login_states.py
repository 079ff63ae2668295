"""Logins of servers that are connected: what the user sees, and what a login changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from fakes.mcp_servers import call, make_host, running, state_of, text_of, until
from fakes.oauth_service import OAuthService, browse

from tools.mcp.auth import authentication
from tools.mcp.auth.browser_login import LoginRequest
from tools.mcp.auth.login import login
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.host import McpHost
from tools.mcp.server_config import McpServer

REQUIRED = "MCP server guarded requires a login; run cinch mcp login guarded"


@pytest.fixture
async def service() -> AsyncGenerator[OAuthService]:
    async with OAuthService().running() as running_service:
        yield running_service


@pytest.fixture
def tokens(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "mcp")


@pytest.fixture
def host(tmp_path: Path, tokens: TokenStore) -> McpHost:
    async def authenticate(server: McpServer) -> httpx2.Auth | None:
        return await authentication(server, tokens, None)

    return make_host(tmp_path, authenticate=authenticate)


async def log_in(service: OAuthService, tokens: TokenStore) -> None:
    async def ask(request: LoginRequest) -> None:
        await browse(request.url)

    await login(service.server(), tokens, ask, httpx2.AsyncHTTPTransport())


async def test_server_that_requires_a_login_connects_after_it(
    service: OAuthService, tokens: TokenStore, host: McpHost, tmp_path: Path
):
    async with running([service.server()], host) as manager:
        before = state_of(manager, "guarded")
        await log_in(service, tokens)
        await manager.reconnect("guarded")
        await until(lambda: state_of(manager, "guarded").phase == "connected")

        greeting = await call(manager, "greet", tmp_path, name="Ada")

    assert (before.phase, before.reason) == ("needs_login", REQUIRED)
    assert text_of(greeting) == "Hello Ada"


async def test_revoked_login_is_reported_by_the_call_and_the_state(
    service: OAuthService, tokens: TokenStore, host: McpHost, tmp_path: Path
):
    await log_in(service, tokens)
    async with running([service.server()], host) as manager:
        assert state_of(manager, "guarded").phase == "connected"
        service.accounts.access.clear()
        service.accounts.refresh.clear()

        output = await call(manager, "greet", tmp_path, name="Ada")
        await until(lambda: state_of(manager, "guarded").phase == "needs_login")

        assert state_of(manager, "guarded").reason == REQUIRED
    assert output.is_error
    assert "cinch mcp login guarded" in text_of(output)


async def test_expired_token_does_not_interrupt_a_connection(
    service: OAuthService, tokens: TokenStore, host: McpHost, tmp_path: Path
):
    await log_in(service, tokens)
    async with running([service.server()], host) as manager:
        service.accounts.access.clear()

        output = await call(manager, "greet", tmp_path, name="Ada")

        assert state_of(manager, "guarded").phase == "connected"
    assert text_of(output) == "Hello Ada"
