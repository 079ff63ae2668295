"""Ways through the proxies that the environment names, with real proxies."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.asking import Asker, Serve
from fakes.authorities import Authority
from fakes.model_server import Reply
from fakes.relays import HttpProxy, Relay, SocksProxy

from harness.deltas import Done
from harness.errors import NetworkError, ProviderError, RequestRejected
from http_client.proxies import proxy_for
from providers import connect

PLAIN, ENCRYPTED = "http://models.example", "https://models.example"
PASSWORD = "p@ss:w/rd#1"
QUOTED = "p%40ss%3Aw%2Frd%231"
LOGIN = f"me:{PASSWORD}"

Start = Callable[[Relay], Relay]


@pytest.fixture
def start() -> Iterator[Start]:
    relays: list[Relay] = []

    def begin(relay: Relay) -> Relay:
        relays.append(relay)
        return relay.__enter__()

    yield begin
    for relay in reversed(relays):
        relay.__exit__()


@pytest.fixture
def behind_tls(serve: Serve, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The port of a model server that shows the certificate of `models.example`, which is trusted."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return start(Relay(serve([Reply("Hi")] * 2).port, tls=authority.server("models.example"))).port


async def answered(ask: Asker, url: str = ENCRYPTED) -> bool:
    model = connect("anthropic/x", base_url=url)
    try:
        return isinstance((await ask(model))[-1], Done)
    finally:
        await model.provider.close()


async def refused(ask: Asker, url: str = ENCRYPTED) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answered(ask, url)
    return caught.value


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
async def test_tls_goes_through_a_proxy_that_cannot_read_it(
    variable: str, behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = HttpProxy(behind_tls, login=LOGIN)
    start(proxy)
    monkeypatch.setenv(variable, f"http://me:{QUOTED}@127.0.0.1:{proxy.port}")

    assert await answered(ask)

    assert proxy.asked == ["models.example:443"]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_unencrypted_requests_are_sent_to_the_proxy(
    variable: str, serve: Serve, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([Reply("Hi")])
    proxy = HttpProxy(server.port, login=LOGIN)
    start(proxy)
    monkeypatch.setenv(variable, f"me:{QUOTED}@127.0.0.1:{proxy.port}")

    assert await answered(ask, PLAIN)

    assert proxy.asked == ["http://models.example/v1/messages"]
    assert "proxy-authorization" not in server.requests[0].headers


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks"])
async def test_tls_goes_through_socks_and_the_proxy_finds_the_host(
    scheme: str, behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = SocksProxy(behind_tls)
    start(proxy)
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://127.0.0.1:{proxy.port}/")

    assert await answered(ask)

    assert proxy.asked == ["models.example:443"]


async def test_a_socks_proxy_receives_the_credentials(
    behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(SocksProxy(behind_tls, login=LOGIN))
    monkeypatch.setenv("ALL_PROXY", f"socks5h://me:{QUOTED}@127.0.0.1:{proxy.port}")

    assert await answered(ask)


async def test_a_proxy_may_be_spoken_to_over_tls(
    serve: Serve, start: Start, ask: Asker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    server = start(Relay(serve([Reply("Hi")]).port, tls=authority.server("models.example")))
    proxy = start(HttpProxy(server.port, login=LOGIN, tls=authority.server("localhost")))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setenv("HTTPS_PROXY", f"https://me:{QUOTED}@localhost:{proxy.port}")

    assert await answered(ask)


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_wrong_password_is_reported_and_not_shown(
    scheme: str, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    kind = SocksProxy if scheme == "socks5" else HttpProxy
    proxy = start(kind(1, login="me:other"))
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://me:{QUOTED}@127.0.0.1:{proxy.port}")

    error = await refused(ask)

    assert isinstance(error, RequestRejected)
    assert f"the proxy {scheme}://127.0.0.1:{proxy.port} rejected the connection to {ENCRYPTED}" in str(error)
    assert "it requires a user name and a password: HTTPS_PROXY=" in str(error)
    for secret in (PASSWORD, QUOTED):
        assert secret not in f"{reported_whole(error)} {caplog.text}"


def reported_whole(error: BaseException | None) -> str:
    """All that a log of the error would hold."""
    return f"{error!r} {reported_whole(error.__cause__ or error.__context__)}" if error else ""


async def test_a_proxy_that_wants_a_password_for_what_is_not_encrypted_is_reported(
    serve: Serve, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(serve([]).port, login=LOGIN))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")

    error = await refused(ask, PLAIN)

    assert "it requires a user name and a password: HTTP_PROXY=http://user:password@host:port" in str(error)


async def test_a_proxy_that_forbids_a_host_is_reported(
    behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(behind_tls, refusal="403 Forbidden"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")

    error = await refused(ask)

    assert str(error).endswith(f"rejected the connection to {ENCRYPTED}: 403 Forbidden; to bypass it, set NO_PROXY")
    assert not error.retryable


async def test_a_proxy_that_cannot_reach_the_service_is_retried(
    behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(behind_tls, refusal="502 Bad Gateway"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")

    assert (await refused(ask)).retryable


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_that_is_down_is_reported(scheme: str, ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("all_proxy", f"{scheme}://me:{QUOTED}@127.0.0.1:{port}")

    error = await refused(ask)

    proxy = f"the proxy {scheme}://127.0.0.1:{port}"
    assert str(error) == f"cannot connect to {proxy}, set in all_proxy, for {ENCRYPTED}"
    assert isinstance(error, NetworkError)


async def test_a_proxy_without_tls_is_reported_with_the_correct_syntax(
    behind_tls: int, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(behind_tls))
    monkeypatch.setenv("HTTPS_PROXY", f"https://127.0.0.1:{proxy.port}")

    assert "write http:// instead of https:// in HTTPS_PROXY" in str(await refused(ask))


@pytest.mark.parametrize(
    "broken",
    [
        f"gopher://me:{PASSWORD}@127.0.0.1:1",
        "http://me:secret#1@127.0.0.1:1",
        "http://me:secret@",
        "http://me:secret@host:port",
        "http://",
    ],
)
async def test_a_variable_that_names_no_proxy_is_named_and_not_quoted(
    broken: str, ask: Asker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ALL_PROXY", broken)

    error = await refused(ask)

    assert "ALL_PROXY is not a valid proxy URL" in str(error)
    for secret in (PASSWORD, "secret"):
        assert secret not in f"{reported_whole(error)} {caplog.text}"


async def test_a_proxy_that_is_not_needed_may_be_broken(
    serve: Serve, start: Start, ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(serve([Reply("Hi")]).port))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("ALL_PROXY", "gopher://x")

    assert await answered(ask, PLAIN)


@pytest.mark.parametrize(
    ("excepted", "url"),
    [
        ("*", "https://api.example"),
        ("other,api.example", "https://api.example"),
        ("other api.example", "https://api.example"),
        ("API.example", "https://api.example"),
        ("example", "https://api.example"),
        (".example", "https://api.example"),
        (".api.example", "https://api.example"),
        ("*.example", "https://api.example"),
        ("https://api.example/", "https://api.example"),
        ("api.example:443", "https://api.example"),
        ("api.example:8443", "https://api.example:8443"),
        ("10.1.2.3", "https://10.1.2.3"),
        ("10.0.0.0/8", "https://10.1.2.3"),
        ("10.1.2.99/24", "https://10.1.2.3"),
        ("10.0.0.0/8:8080", "http://10.1.2.3:8080"),
        ("fd00::/8", "https://[fd12::1]"),
        ("[fd12::1]", "https://[fd12::1]"),
        ("[fd12::1]:8080", "http://[fd12::1]:8080"),
    ],
)
def test_hosts_in_no_proxy_are_reached_directly(excepted: str, url: str) -> None:
    named = {"ALL_PROXY": "http://proxy.example"}

    assert proxy_for(url, named) is not None
    assert proxy_for(url, {**named, "NO_PROXY": excepted}) is None
    assert proxy_for(url, {**named, "no_proxy": excepted}) is None


@pytest.mark.parametrize(
    ("excepted", "url"),
    [
        ("", "https://api.example"),
        ("pi.example", "https://api.example"),
        ("api.example:8443", "https://api.example"),
        ("api.example:443", "http://api.example"),
        ("11.0.0.0/8", "https://10.1.2.3"),
        ("10.0.0.0/8", "https://api.example"),
        ("fd00::/8", "https://10.1.2.3"),
        (".", "https://api.example"),
        ("1.2.3", "https://10.1.2.3"),
    ],
)
def test_hosts_not_in_no_proxy_go_through_the_proxy(excepted: str, url: str) -> None:
    found = proxy_for(url, {"ALL_PROXY": "http://proxy.example", "NO_PROXY": excepted})

    assert found is not None
    assert (found.shown, found.source) == ("http://proxy.example", "ALL_PROXY")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "0.0.0.0", "models.localhost"])
def test_this_machine_is_never_reached_through_a_proxy(host: str) -> None:
    assert proxy_for(f"http://{host}:8080", {"ALL_PROXY": "http://proxy.example"}) is None


def test_the_variable_for_the_scheme_goes_before_the_one_for_all() -> None:
    named = {"ALL_PROXY": "http://all", "HTTPS_PROXY": "http://upper", "https_proxy": "http://lower", "HTTP_PROXY": ""}

    assert proxy_for("https://x.example", named).shown == "http://lower"
    assert proxy_for("http://x.example", named).shown == "http://all"


def test_the_address_of_a_proxy_is_never_shown_with_its_password() -> None:
    found = proxy_for("https://x.example", {"HTTPS_PROXY": f"http://me:{PASSWORD}@proxy.example:3128/"})

    assert found.shown == "http://proxy.example:3128"
    assert "p@ss" not in repr(found)


async def test_a_proxy_without_socks_is_reported(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        url = f"socks5://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("ALL_PROXY", url)
        error = await refused(ask)

    assert isinstance(error, NetworkError)
    assert str(error) == f"the proxy {url}, set in ALL_PROXY, is not a SOCKS proxy"
