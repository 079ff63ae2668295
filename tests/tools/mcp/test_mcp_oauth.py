from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from fakes.oauth_service import OAuthService, browse
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull
from msgspec import structs

from tools.mcp.auth import authentication
from tools.mcp.auth.browser_login import LoginRequest
from tools.mcp.auth.errors import AuthError, LoginFailed, LoginRequired
from tools.mcp.auth.login import login
from tools.mcp.auth.token_store import TokenStore
from tools.mcp.server_config import McpServer


class Browser:
    """User who opens the address of a login; `answer` replaces opening it."""

    def __init__(self, answer: Callable[[LoginRequest], Awaitable[object]] | None = None) -> None:
        self.requests: list[LoginRequest] = []
        self._answer = answer or (lambda request: browse(request.url))

    async def ask(self, request: LoginRequest) -> None:
        self.requests.append(request)
        await self._answer(request)


@pytest.fixture
async def service() -> AsyncGenerator[OAuthService]:
    async with OAuthService().running() as running:
        yield running


@pytest.fixture
def tokens(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "mcp")


@asynccontextmanager
async def connected(server: McpServer, tokens: TokenStore, browser: Browser | None = None) -> AsyncGenerator[Client]:
    auth = await authentication(server, tokens, browser.ask if browser else None)
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield client


async def greet(client: Client) -> str:
    result = await client.call_tool("greet", {"name": "Ada"})
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


async def failure(server: McpServer, tokens: TokenStore, browser: Browser | None = None) -> AuthError:
    with pytest.RaisesGroup(AuthError, flatten_subgroups=True, allow_unwrapped=True) as caught:
        async with connected(server, tokens, browser):
            pass
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, AuthError)
    return error


async def test_first_login_and_resume_with_the_stored_token(service: OAuthService, tokens: TokenStore):
    browser = Browser()

    async with connected(service.server(), tokens, browser) as client:
        assert await greet(client) == "Hello Ada"
    async with connected(service.server(), tokens) as client:
        assert await greet(client) == "Hello Ada"

    [request] = browser.requests
    assert (request.server, request.host) == ("guarded", "127.0.0.1")
    [authorized] = service.accounts.authorized
    assert (authorized.resource, authorized.scopes) == (service.url, ["read"])


async def test_expiring_token_is_refreshed_before_it_is_rejected(service: OAuthService, tokens: TokenStore):
    server = service.server()
    async with connected(server, tokens, Browser()):
        pass
    stored = tokens.load(server)
    assert stored is not None
    tokens.save(server, structs.replace(stored, expires_at=time.time() + 30))

    async with connected(server, tokens) as client:
        assert await greet(client) == "Hello Ada"

    assert service.accounts.refreshed == 1
    renewed = tokens.load(server)
    assert renewed is not None
    assert renewed.expires_at > time.time() + 3000


async def test_token_rejected_in_the_middle_of_a_session_is_refreshed(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()) as client:
        service.accounts.access.clear()

        assert await greet(client) == "Hello Ada"

    assert (service.accounts.refreshed, len(service.accounts.authorized)) == (1, 1)


async def test_two_processes_refresh_one_after_the_other(service: OAuthService, tokens: TokenStore, tmp_path: Path):
    async with connected(service.server(), tokens, Browser()):
        pass
    other = TokenStore(tmp_path / "mcp")
    async with connected(service.server(), tokens) as first, connected(service.server(), other) as second:
        service.accounts.access.clear()

        assert await asyncio.gather(*(greet(client) for client in (first, second, first, second))) == ["Hello Ada"] * 4

    assert service.accounts.refreshed == 1


async def test_call_cancelled_during_a_refresh_loses_no_token(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()):
        pass
    service.accounts.access.clear()
    service.may_answer.clear()
    service.asked_for_token.clear()
    auth = await authentication(service.server(), tokens, None)

    async with httpx2.AsyncClient(auth=auth, trust_env=False) as http, anyio.create_task_group() as group:
        group.start_soon(http.get, service.url)
        await service.asked_for_token.wait()
        group.cancel_scope.cancel()
        service.may_answer.set()

    async with connected(service.server(), tokens) as client:
        assert await greet(client) == "Hello Ada"
    assert service.accounts.refreshed == 1


async def test_revoked_refresh_token_requires_a_login(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()):
        pass
    service.accounts.access.clear()
    service.accounts.refresh.clear()

    error = await failure(service.server(), tokens)

    assert isinstance(error, LoginRequired)
    assert str(error) == "MCP server guarded requires a login; run cinch mcp login guarded"
    async with connected(service.server(), tokens, Browser()) as client:
        assert await greet(client) == "Hello Ada"


async def test_failing_authorization_server_keeps_the_login(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()):
        pass
    service.accounts.access.clear()
    clients, service.accounts.clients = service.accounts.clients, BrokenClients()

    error = await failure(service.server(), tokens)

    assert "did not refresh the login: HTTP 500; try again later" in str(error)
    service.accounts.clients = clients
    async with connected(service.server(), tokens) as client:
        assert await greet(client) == "Hello Ada"


class BrokenClients(dict[str, OAuthClientInformationFull]):
    def get(self, key: str, default: object = None) -> OAuthClientInformationFull:
        raise OSError("the database is gone")


async def test_without_a_user_nothing_is_registered(service: OAuthService, tokens: TokenStore):
    error = await failure(service.server("my server"), tokens)

    assert str(error).endswith("run cinch mcp login 'my server'")
    assert service.accounts.clients == {}


async def test_calls_that_need_a_login_at_once_ask_once(service: OAuthService, tokens: TokenStore):
    browser = Browser()
    auth = await authentication(service.server(), tokens, browser.ask)

    async with httpx2.AsyncClient(auth=auth, trust_env=False) as http:
        responses = await asyncio.gather(*(http.get(service.url) for _ in range(3)))

    assert 401 not in {response.status_code for response in responses}
    assert len(browser.requests) == 1


async def test_request_does_not_wait_for_another_one(tokens: TokenStore):
    async with (
        OAuthService(json_response=True).running() as service,
        connected(service.server(), tokens, Browser()) as client,
    ):
        waiting = asyncio.create_task(client.call_tool("wait", {}))
        await service.waiting.wait()

        assert await greet(client) == "Hello Ada"

        service.proceed.set()
        await waiting


@pytest.mark.parametrize("secret", ["", "s3cret-of-the-client"])
async def test_configured_client_replaces_registration(tokens: TokenStore, secret: str):
    async with OAuthService(registers=False).running() as service:
        refused = await failure(service.server(), tokens, Browser())
        server = service.server(client_id="cinch-of-ada", client_secret=secret, redirect_port=service.free_port)
        service.accounts.clients["cinch-of-ada"] = OAuthClientInformationFull(
            client_id="cinch-of-ada",
            client_secret=secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            redirect_uris=[f"http://127.0.0.1:{service.free_port}/callback"],  # pyright: ignore[reportArgumentType]
            scope="read",
        )
        async with connected(server, tokens, Browser()):
            service.accounts.access.clear()
        async with connected(server, tokens) as client:
            assert await greet(client) == "Hello Ada"

    assert "the client could not be registered" in str(refused)
    assert "configure a client_id" in str(refused)


async def test_further_scopes_are_requested_by_the_next_login(service: OAuthService, tokens: TokenStore):
    browser = Browser()
    async with connected(service.server(), tokens, browser):
        pass
    service.challenge = 'Bearer error="insufficient_scope", scope="write"'

    error = await failure(service.server(), tokens)
    await login(service.server(), tokens, browser.ask, httpx2.AsyncHTTPTransport())

    assert "requires a login with further scopes (write); run cinch mcp login guarded" in str(error)
    assert [set(each.scopes or []) for each in service.accounts.authorized] == [{"read"}, {"read", "write"}]


async def test_further_scopes_are_requested_in_the_middle_of_a_session(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()) as client:
        service.challenge = 'Bearer error="insufficient_scope", scope="write"'

        assert await greet(client) == "Hello Ada"

    assert [set(each.scopes or []) for each in service.accounts.authorized] == [{"read"}, {"read", "write"}]


async def test_redirect_with_a_wrong_state_is_ignored(service: OAuthService, tokens: TokenStore):
    answers: list[int] = []
    pages: list[asyncio.Task[httpx2.Response]] = []

    async def attack_first(request: LoginRequest) -> None:
        callback = str(httpx2.URL(request.url).params["redirect_uri"])
        answers.append((await browse(f"{callback}?code=stolen&state=wrong")).status_code)
        answers.append((await browse(callback.replace("callback", "favicon.ico"))).status_code)
        with pytest.raises(LoginFailed, match="not the address of this login"):
            request.paste(f"{callback}?code=stolen&state=wrong")
        pages.append(asyncio.create_task(browse(request.url)))

    async with connected(service.server(), tokens, Browser(attack_first)) as client:
        assert await greet(client) == "Hello Ada"

    assert answers == [400, 404]
    assert "cinch has received the login" in (await pages[0]).text


async def test_redirected_address_can_be_pasted(service: OAuthService, tokens: TokenStore):
    async def paste(request: LoginRequest) -> None:
        async with httpx2.AsyncClient(trust_env=False) as elsewhere:
            response = await elsewhere.get(request.url)
        request.paste(f" {response.headers['location']}\n")

    async with connected(service.server(), tokens, Browser(paste)) as client:
        assert await greet(client) == "Hello Ada"


async def test_denied_login_says_so(service: OAuthService, tokens: TokenStore):
    service.accounts.consents = False
    pages: list[asyncio.Task[httpx2.Response]] = []

    async def deny(request: LoginRequest) -> None:
        pages.append(asyncio.create_task(browse(request.url)))

    error = await failure(service.server(), tokens, Browser(deny))

    assert str(error) == "MCP server guarded: 127.0.0.1 denied the login: access_denied: Ada said no"
    assert "The login was denied" in (await pages[0]).text


async def test_cancelled_login_ends_at_once(service: OAuthService, tokens: TokenStore):
    async def cancel(request: LoginRequest) -> None:
        request.cancel()

    assert (
        str(await failure(service.server(), tokens, Browser(cancel))) == "MCP server guarded: the login was cancelled"
    )


async def test_login_that_never_returns_ends(
    service: OAuthService, tokens: TokenStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tools.mcp.auth.browser_login.LOGIN_SECONDS", 0.06)
    ended = asyncio.Event()

    async def wait(_: LoginRequest) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    error = await failure(service.server(), tokens, Browser(wait))

    assert str(error) == "MCP server guarded: no login within 0.001 minutes"
    assert ended.is_set()


async def test_port_in_use_is_named(service: OAuthService, tokens: TokenStore):
    server = service.server(redirect_port=service.sockets[0].getsockname()[1])

    error = await failure(server, tokens, Browser())

    assert "is not available for the redirect" in str(error)
    assert "redirect_port" in str(error)


async def test_authorization_server_with_the_issuer_of_another_is_refused(tokens: TokenStore):
    async with OAuthService(issuer="http://localhost:1").running() as service:
        browser = Browser()

        error = await failure(service.server(), tokens, browser)

    assert "issuer mismatch" in str(error)
    assert (browser.requests, service.accounts.clients) == ([], {})


async def test_token_is_sent_to_its_own_server_only(service: OAuthService, tokens: TokenStore):
    async with connected(service.server(), tokens, Browser()):
        pass

    async with httpx2.AsyncClient(auth=await authentication(service.server(), tokens, None), trust_env=False) as http:
        own = await http.get(service.url)
        other = await http.get(f"{service.authority}/.well-known/oauth-authorization-server")

    assert ["authorization" in response.request.headers for response in (own, other)] == [True, False]


async def test_tokens_appear_in_no_log_error_or_repr(
    service: OAuthService, tokens: TokenStore, caplog: pytest.LogCaptureFixture, tmp_path: Path
):
    for name in ("", "mcp", "httpx2", "httpcore2", "tools"):
        caplog.set_level(logging.DEBUG, name)
    server = service.server(client_secret="s3cret-of-the-client")
    async with connected(server, tokens, Browser()):
        issued = [*service.accounts.access, *service.accounts.refresh]
        service.accounts.access.clear()
        service.accounts.refresh.clear()
    # Short, since pydantic truncates what it quotes.
    service.token_response = {"refresh_token": "leak"}

    error = await failure(server, tokens, Browser())

    login = tokens.load(server)
    texts = [caplog.text, str(error), repr(error), repr(login), repr(tokens), repr(server)]
    assert not [text for text in texts for secret in (*issued, "leak", "s3cret") if secret in text]
    [file] = (tmp_path / "mcp").glob("guarded-*/credentials.json")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
