"""Proxies and certificates of requests to MCP servers, with real proxies and real TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from fakes.authorities import Authority
from fakes.local_http import Handler, LocalHttp
from fakes.relays import HttpProxy, Relay

from harness.errors import RequestRejected
from tools.mcp.network import NetworkTransport, connection_failure

Start = Callable[[Relay], int]


class Greeting(Handler):
    def do_GET(self) -> None:  # noqa: N802 the name that http.server looks for
        self.send_body(200, b"hello")


@pytest.fixture
def start() -> Iterator[Start]:
    relays: list[Relay] = []

    def begin(relay: Relay) -> int:
        relays.append(relay.__enter__())
        return relay.port

    yield begin
    for relay in reversed(relays):
        relay.__exit__()


@pytest.fixture
def greeting() -> Iterator[LocalHttp]:
    with LocalHttp(Greeting) as server:
        yield server


async def get(url: str, **environ: str) -> str:
    async with httpx2.AsyncClient(transport=NetworkTransport(environ), trust_env=False) as client:
        return (await client.get(url)).text


async def test_each_address_uses_its_own_proxy(greeting: LocalHttp, start: Start, tmp_path: Path):
    authority = Authority(tmp_path)
    behind_tls = start(Relay(greeting.port, tls=authority.server("mcp.example")))
    proxy = HttpProxy(behind_tls)
    environ = {"SSL_CERT_FILE": str(authority.file), "HTTPS_PROXY": f"http://127.0.0.1:{start(proxy)}"}

    async with httpx2.AsyncClient(transport=NetworkTransport(environ), trust_env=False) as client:
        texts = [(await client.get(url)).text for url in ("https://mcp.example/a", f"{greeting.url}/b")]

    assert texts == ["hello", "hello"]
    assert proxy.asked == ["mcp.example:443"]


async def test_untrusted_certificate_is_explained(greeting: LocalHttp, start: Start, tmp_path: Path):
    port = start(Relay(greeting.port, tls=Authority(tmp_path).server("localhost")))

    with pytest.raises(httpx2.ConnectError) as caught:
        await get(f"https://localhost:{port}")

    assert f"the certificate of localhost:{port} was issued by 'Acme Inspection'" in connection_failure(caught.value)


async def test_invalid_proxy_is_named_without_its_password():
    with pytest.raises(RequestRejected, match="HTTP_PROXY is not a valid proxy URL") as caught:
        await get("http://mcp.example", HTTP_PROXY="http://me:s3cret@")

    assert "s3cret" not in str(caught.value)
