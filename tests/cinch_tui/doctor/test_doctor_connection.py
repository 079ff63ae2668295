"""Diagnosis of the step at which a connection to a service fails, over real connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from fakes.authorities import Authority
from fakes.model_server import ModelServer, Reply
from fakes.patients import HURRIED, examined, report
from fakes.relays import HttpProxy, Relay, SocksProxy

from cinch_tui.doctor.connection import ConnectionCheck, ServiceRoute
from http_client.tls import ssl_context, unused_context

HOST = "models.example"
PASSWORD = "sesame-sesame"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://{HOST}")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def behind_tls(start: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> int:
    """The port of a model server that shows the certificate of `models.example`, which is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = start(ModelServer([Reply("OK")]))
    return start(Relay(server.port, tls=authority.server(HOST))).port


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


async def way(**how: Any) -> list[str]:
    return report(await examined("anthropic", **how))


async def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://nowhere.invalid")

    [reported] = await way()

    assert reported.startswith("bad anthropic name: ")
    assert "nowhere.invalid" in reported
    assert reported.endswith("if you need a proxy: export HTTPS_PROXY=http://HOST:PORT")


async def test_an_address_without_a_listener_is_named(monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://localhost:{unused_tcp_port}")

    name, connection = await way()

    assert name.startswith("ok anthropic name: localhost resolves to ")
    assert connection.startswith(f"bad anthropic connection: connection refused by localhost:{unused_tcp_port} →")


async def test_a_server_without_tls_is_named(silent: int) -> None:
    walk = ConnectionCheck(ServiceRoute("127.0.0.1", silent, is_encrypted=True), ssl_context({}), seconds=0.3)

    connection, tls = await walk.findings()

    assert connection.message == f"127.0.0.1:{silent} accepts connections"
    assert tls.message == f"TLS handshake with 127.0.0.1:{silent} timed out after 0.3 s"


async def test_a_server_in_the_clear_is_not_taken_for_a_secure_one(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(ModelServer())
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://127.0.0.1:{server.port}")

    *_, tls = await way()

    assert "TLS handshake with" in tls
    assert "for a server without encryption, use an address with http://" in tls


async def test_an_unknown_authority_is_named_with_the_remedy(
    start: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = start(Relay(start(ModelServer()).port, tls=authority.server("localhost")))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://localhost:{relay.port}")

    *_, tls = await way()

    assert tls.startswith("bad anthropic TLS: the certificate of localhost was issued by 'Acme Inspection'")
    assert "SSL_CERT_FILE" in tls.partition("→")[2]


async def test_a_certificate_that_expired_is_reported(
    start: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    relay = start(Relay(start(ModelServer()).port, tls=authority.server("localhost", expired=True)))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"https://localhost:{relay.port}")

    *_, tls = await way()

    assert "the certificate of localhost has expired" in tls
    assert "clock" in tls


async def test_a_service_behind_a_proxy_answers_and_the_proxy_is_reported(
    start: Any, behind_tls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = start(HttpProxy(behind_tls))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")

    [reported] = await way()

    assert reported.startswith("ok anthropic answer: ")
    assert reported.endswith(f"through the proxy 127.0.0.1:{proxy.port}, from HTTPS_PROXY")


UNKNOWN = "rejects the user name and password"
PROXIES = {
    "stranger": ("http", {"refusal": "403 Forbidden"}, "denies the connection to", f"to allow {HOST}:443"),
    "no way": ("http", {"refusal": "502 Bad Gateway"}, "cannot reach", "check the base URL"),
    "login": ("http", {"login": "me:other"}, UNKNOWN, "export HTTPS_PROXY=http://NAME:PASSWORD@127.0.0.1"),
    "socks": ("socks5", {"login": "me:other"}, UNKNOWN, "export HTTPS_PROXY=socks5://NAME:PASSWORD@127.0.0.1"),
}


@pytest.mark.parametrize("kind", PROXIES)
async def test_a_rejecting_proxy_is_reported_as_the_failing_hop(
    kind: str, start: Any, behind_tls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme, how, cause, remedy = PROXIES[kind]
    proxy = start((SocksProxy if scheme == "socks5" else HttpProxy)(behind_tls, **how))
    monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://me:{PASSWORD}@127.0.0.1:{proxy.port}")

    connection, reported = await way()

    assert (
        connection
        == f"ok anthropic connection: the proxy 127.0.0.1:{proxy.port} (from HTTPS_PROXY) accepts connections"
    )
    assert reported.startswith(f"bad anthropic proxy: 127.0.0.1:{proxy.port} {cause}")
    assert remedy in reported.partition("→")[2]
    assert PASSWORD not in reported


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_walk_goes_through_the_proxy_to_the_certificate(
    scheme: str, start: Any, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = start(Relay(start(ModelServer()).port, tls=authority.server(HOST)))
    proxy = start((SocksProxy if scheme == "socks5" else HttpProxy)(relay.port, login=f"me:{PASSWORD}"))
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://me:{PASSWORD}@127.0.0.1:{proxy.port}")

    _, hop, tls = await way()

    assert hop == f"ok anthropic proxy: 127.0.0.1:{proxy.port} connects to models.example:443"
    assert "was issued by 'Acme Inspection'" in tls


async def test_a_proxy_that_is_not_there_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("https_proxy", f"127.0.0.1:{unused_tcp_port}")

    [reported] = await way()

    assert f"connection: connection refused by the proxy 127.0.0.1:{unused_tcp_port} (from https_proxy)" in reported
    assert reported.endswith("→ start the proxy, or correct or unset https_proxy")


async def test_a_silent_proxy_is_reported(monkeypatch: pytest.MonkeyPatch, silent: int) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{silent}")

    *_, reported = await way(patience=HURRIED)

    assert f"proxy: 127.0.0.1:{silent} accepts the connection and does not answer within 0.3 s" in reported


@pytest.mark.parametrize(("scheme", "kind"), [("http", "HTTP"), ("socks5", "SOCKS")])
async def test_a_server_that_is_no_proxy_is_reported(scheme: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://127.0.0.1:{port}")
        *_, reported = await way()

    assert f"127.0.0.1:{port}, from HTTPS_PROXY, is not a" in reported
    assert reported.endswith(f"→ set the correct proxy: export HTTPS_PROXY={scheme}://HOST:PORT")


async def test_certificates_that_cannot_be_read_are_traced_to_their_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))

    [reported] = await way()

    assert f"SSL_CERT_FILE names {tmp_path / 'none.pem'}, which does not exist" in reported
    assert reported.endswith("→ correct the value, or unset the variable")


@pytest.mark.parametrize(("minutes", "reported"), [(-90, "90 minutes ahead of"), (90, "90 minutes behind"), (1, "")])
async def test_a_wrong_clock_is_reported(minutes: int, reported: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)

    async def tell_the_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 404 Not Found\r\nDate: {date}\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(tell_the_time, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await ConnectionCheck(ServiceRoute("127.0.0.1", port, is_encrypted=False), unused_context()).clock()

    assert "".join(finding.message for finding in found) == (
        f"this machine's clock is {reported} the service's" if reported else ""
    )
