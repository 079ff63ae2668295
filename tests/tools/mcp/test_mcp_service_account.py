from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fakes.oauth_service import SUBJECT, OAuthService

from harness.errors import ConfigError
from tools.mcp.auth import authentication
from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.server_config import McpAuth, McpServer

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
async def service() -> AsyncGenerator[OAuthService]:
    async with OAuthService(json_response=True).running() as running:
        yield running


def account(service: OAuthService, **auth: Any) -> McpServer:
    return service.server(
        **{
            "kind": "service_account",
            "token": SUBJECT,
            "client_id": "ci",
            "client_secret": "s3cret: 100%",
            "token_url": f"{service.authority}/exchange",
            "audience": "mcp",
            "scopes": ("read",),
            **auth,
        }
    )


async def client_of(server: McpServer, tmp_path: Path) -> httpx2.AsyncClient:
    auth = await authentication(server, TokenStore(tmp_path), None)
    headers = {"Accept": "application/json, text/event-stream"}
    return httpx2.AsyncClient(auth=auth, trust_env=False, headers=headers)


@pytest.mark.parametrize("method", ["basic", "post"])
async def test_token_is_exchanged_once_for_many_requests(service: OAuthService, tmp_path: Path, method: str):
    service.exchange_method = method

    async with await client_of(account(service), tmp_path) as client:
        statuses = [(await client.post(service.url, json=INITIALIZE)).status_code for _ in range(3)]

    assert statuses == [200] * 3
    accepted = [form for form in service.exchanges if ("client_secret" in form) == (method == "post")]
    assert len(accepted) == 1
    assert (accepted[0]["audience"], accepted[0]["scope"]) == ("mcp", "read")


async def test_token_is_exchanged_again_before_its_end_and_after_a_rejection(service: OAuthService, tmp_path: Path):
    service.accounts.lifetime = 0
    async with await client_of(account(service), tmp_path) as client:
        await client.post(service.url, json=INITIALIZE)
        service.accounts.lifetime = 3600
        await client.post(service.url, json=INITIALIZE)
        assert len(service.exchanges) == 2
        service.accounts.access.clear()

        response = await client.post(service.url, json=INITIALIZE)

    assert (response.status_code, len(service.exchanges)) == (200, 3)


async def test_refused_exchange_is_explained_without_the_secrets(service: OAuthService, tmp_path: Path):
    server = account(service, token="a-subject-nobody-knows")

    async with await client_of(server, tmp_path) as client:
        with pytest.raises(AuthError) as caught:
            await client.post(service.url, json=INITIALIZE)

    text = "MCP server guarded: 127.0.0.1 did not exchange the token: HTTP 400, invalid_grant: unknown subject"
    assert str(caught.value) == text


async def test_token_is_sent_to_its_own_server_only(service: OAuthService, tmp_path: Path):
    async with await client_of(account(service), tmp_path) as client:
        response = await client.get(f"{service.authority}/.well-known/oauth-authorization-server")

    assert "authorization" not in response.request.headers
    assert service.exchanges == []


async def test_incomplete_service_account_is_a_configuration_error(service: OAuthService, tmp_path: Path):
    with pytest.raises(ConfigError, match="requires token and token_url"):
        await client_of(account(service, token_url="file:///etc/passwd"), tmp_path)


async def test_static_token_is_sent_and_its_rejection_explained(service: OAuthService, tmp_path: Path):
    token = service.accounts.issue("ci", ["read"], service.url).access_token
    async with await client_of(service.server(kind="bearer", token=token), tmp_path) as client:
        assert (await client.post(service.url, json=INITIALIZE)).status_code == 200
    async with await client_of(service.server(kind="bearer", token="expired-token"), tmp_path) as client:
        with pytest.raises(AuthError, match="guarded rejected the token") as caught:
            await client.post(service.url, json=INITIALIZE)

    assert "expired-token" not in str(caught.value)


async def test_token_that_is_no_header_value_is_not_quoted(service: OAuthService, tmp_path: Path):
    async with await client_of(service.server(kind="bearer", token="line\nbreak"), tmp_path) as client:
        with pytest.raises(AuthError, match="not allowed in an HTTP header") as caught:
            await client.post(service.url, json=INITIALIZE)

    assert "break" not in str(caught.value)


async def test_authorization_header_replaces_oauth(service: OAuthService, tmp_path: Path):
    server = McpServer("guarded", url=service.url, headers={"authorization": "Bearer expired-token"}, auth=McpAuth())

    async with await client_of(server, tmp_path) as client:
        with pytest.raises(AuthError, match="rejected the Authorization header"):
            await client.post(service.url, json=INITIALIZE, headers=server.headers)
