"""Authorization servers that deceive, flood or break the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from fakes.local_http import Handler, LocalHttp
from fakes.oauth_service import browse

from tools.mcp.auth.browser_login import LoginRequest
from tools.mcp.auth.errors import AuthError
from tools.mcp.auth.login import login
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.server_config import McpAuth, McpServer

SECRET = "token-of-the-user"


class HostileServer(LocalHttp):
    """MCP server and authorization server in one; `changes` replaces fields of its metadata, or whole responses."""

    def __init__(self) -> None:
        super().__init__(_Hostile)
        self.metadata: dict[str, Any] = {}
        self.bodies: dict[str, bytes] = {}
        self.challenge = "Bearer"
        self.token: dict[str, Any] = {"access_token": SECRET, "token_type": "Bearer"}
        self.is_endless = False
        self.is_open = False
        self.asked: list[str] = []

    def answer(self, path: str) -> bytes:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return json.dumps({"resource": f"{self.url}/mcp", "authorization_servers": [self.url]}).encode()
        if path.startswith("/.well-known/"):
            usual = {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "registration_endpoint": f"{self.url}/register",
            }
            return json.dumps(usual | self.metadata).encode()
        if path == "/register":
            return json.dumps({"client_id": "1"}).encode()
        return json.dumps(self.token).encode() if path == "/token" else b""


class _Hostile(Handler):
    def do_GET(self) -> None:  # noqa: N802 the name that http.server looks for
        fake, parts = self.server.fake, urlsplit(self.path)
        fake.asked.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if fake.is_open:
            return self.send_body(200 if parts.path == "/mcp" else 404, b"")
        if parts.path == "/mcp":
            return self.send_body(401, b"", {"www-authenticate": fake.challenge})
        if parts.path == "/authorize":
            query = httpx2.QueryParams(parts.query)
            return self.send_body(302, b"", {"location": f"{query['redirect_uri']}?code=1&state={query['state']}"})
        if fake.is_endless and parts.path.endswith("oauth-authorization-server"):
            self.send_response(200)
            self.end_headers()
            # Ends when the client closes the connection.
            while True:
                self.wfile.write(b" " * 65536)
        return self.send_body(200, fake.answer(parts.path), {"content-type": "application/json"})

    do_POST = do_GET  # noqa: N815 the name that http.server looks for


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


async def failure(hostile: HostileServer, tmp_path: Path, **auth: Any) -> str:
    async def ask(request: LoginRequest) -> None:
        await browse(request.url)

    server = McpServer("evil", url=f"{hostile.url}/mcp", transport="http", auth=McpAuth(**auth))
    with pytest.raises(AuthError) as caught:
        await login(server, TokenStore(tmp_path), ask, httpx2.AsyncHTTPTransport())
    assert caught.value.__context__ is None or SECRET not in repr(caught.value.__context__)
    return str(caught.value)


async def test_endless_metadata_ends_the_login(hostile: HostileServer, tmp_path: Path):
    hostile.is_endless = True

    assert "127.0.0.1 sent more than 262,144 bytes" in await failure(hostile, tmp_path)


@pytest.mark.parametrize(
    "page", ["http://accounts.example.com@127.0.0.1:1/", "https://user:password@login.example/authorize"]
)
async def test_login_page_that_pretends_to_be_on_another_host_is_not_shown(
    hostile: HostileServer, tmp_path: Path, page: str
):
    hostile.metadata = {"authorization_endpoint": page}

    assert "is no web address" in await failure(hostile, tmp_path)


@pytest.mark.parametrize("page", ["javascript:alert(1)", "file:///etc/passwd", "myapp://login", "--version"])
async def test_login_page_that_is_no_web_address_is_never_opened(hostile: HostileServer, tmp_path: Path, page: str):
    hostile.metadata = {"authorization_endpoint": page}

    # Metadata with such an address are invalid, so that the usual addresses of the server are used.
    assert "rejected the new token" in await failure(hostile, tmp_path)


async def test_metadata_are_read_from_web_addresses_only(hostile: HostileServer, tmp_path: Path):
    hostile.challenge = 'Bearer resource_metadata="file:///etc/passwd"'

    assert "neither http nor https" in await failure(hostile, tmp_path)


async def test_client_metadata_document_replaces_registration_where_it_is_supported(
    hostile: HostileServer, tmp_path: Path
):
    document = "https://cinch.example/client.json"
    hostile.metadata = {"client_id_metadata_document_supported": True}

    await failure(hostile, tmp_path, client_id=document)

    [page] = [path for path in hostile.asked if path.startswith("/authorize")]
    assert httpx2.QueryParams(urlsplit(page).query)["client_id"] == document
    assert "/register" not in hostile.asked


async def test_server_without_authentication_offers_no_login(hostile: HostileServer, tmp_path: Path):
    hostile.is_open = True

    text = await failure(hostile, tmp_path)

    assert "the server requires no login, and the client could not be registered (Registration failed: 404" in text


async def test_query_of_the_login_page_is_kept(hostile: HostileServer, tmp_path: Path):
    hostile.metadata = {"authorization_endpoint": f"{hostile.url}/authorize?tenant=acme"}

    await failure(hostile, tmp_path)

    [page] = [path for path in hostile.asked if path.startswith("/authorize")]
    query = httpx2.QueryParams(urlsplit(page).query)
    assert (query["tenant"], query["response_type"]) == ("acme", "code")


async def test_server_without_pkce_is_refused(hostile: HostileServer, tmp_path: Path):
    hostile.metadata = {"code_challenge_methods_supported": ["plain"]}

    assert "127.0.0.1 does not support PKCE with S256" in await failure(hostile, tmp_path)


@pytest.mark.parametrize(
    "token",
    [
        {"refresh_token": SECRET},
        {"access_token": SECRET, "token_type": "mac"},
        {"access_token": f"{SECRET}\r\nX-Injected: 1", "token_type": "Bearer"},
    ],
)
async def test_invalid_token_is_not_quoted(hostile: HostileServer, tmp_path: Path, token: dict[str, str]):
    hostile.token = token

    text = await failure(hostile, tmp_path)

    assert SECRET not in text
    assert not list(tmp_path.iterdir())


async def test_token_that_the_server_rejects_is_no_login(hostile: HostileServer, tmp_path: Path):
    assert "evil rejected the new token" in await failure(hostile, tmp_path)


async def test_text_of_the_server_is_made_printable(hostile: HostileServer, tmp_path: Path):
    hostile.metadata = {"issuer": "http://127.0.0.1/\u202e\u001b[31m"}

    text = await failure(hostile, tmp_path)

    assert text.isprintable()
