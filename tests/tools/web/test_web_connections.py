"""Addresses that web_fetch connects to: names, rebinding, certificates and proxies."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.authorities import Authority
from fakes.web_site import WebSite, fetched, text

from tools.web.options import WebOptions


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as opened:
        yield opened


async def test_name_that_resolves_to_a_private_address_is_refused(
    site: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolver({"public.example.com": ["93.184.216.34", "127.0.0.1"]}))

    output = await fetched(tmp_path, f"http://public.example.com:{site.port}/", WebOptions(robots=False))

    assert "resolves to 127.0.0.1" in text(output)
    assert site.requests == []


async def test_name_is_resolved_once_so_that_it_cannot_change_after_the_check(
    site: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", "secret", "text/plain")
    asked = resolver({"rebind.example.com": ["::1"]}, then={"rebind.example.com": ["127.0.0.1"]})
    monkeypatch.setattr(socket, "getaddrinfo", asked)

    output = await fetched(tmp_path, f"http://rebind.example.com:{site.port}/", WebOptions(("::1",), robots=False))

    # Nothing listens at the checked address; the second answer, where the site is, was never asked for.
    assert "Cannot connect" in text(output)
    assert site.requests == []
    assert asked.names == ["rebind.example.com"]


async def test_next_address_is_tried_if_the_first_does_not_answer(
    site: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", "second", "text/plain")
    monkeypatch.setattr(socket, "getaddrinfo", resolver({"two.example.com": ["::1", "127.0.0.1"]}))

    output = await fetched(
        tmp_path, f"http://two.example.com:{site.port}/", WebOptions(("two.example.com",), robots=False)
    )

    assert "second" in text(output)
    assert site.requests[0].headers["host"] == f"two.example.com:{site.port}"


async def test_certificate_is_checked_for_the_name_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    names = {"good.example.com": ["127.0.0.1"], "bad.example.com": ["127.0.0.1"]}
    monkeypatch.setattr(socket, "getaddrinfo", resolver(names))
    server = await asyncio.start_server(hello, "127.0.0.1", 0, ssl=authority.server("good.example.com"))
    port = server.sockets[0].getsockname()[1]
    async with server:
        good = await fetched(tmp_path, f"https://good.example.com:{port}/")
        bad = await fetched(tmp_path, f"https://bad.example.com:{port}/")

    assert "hello" in text(good)
    assert "certificate" in text(bad)


async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello")
    await writer.drain()
    writer.close()


async def test_proxy_gets_the_name_and_private_names_are_refused_all_the_same(
    site: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["http://public.example.com/"] = lambda handler: handler.send_body(
        200, b"by proxy", {"content-type": "text/plain"}
    )
    monkeypatch.setenv("HTTP_PROXY", site.url)

    output = await fetched(tmp_path, "http://public.example.com/", WebOptions(robots=False))
    refused = await fetched(tmp_path, "http://2130706433/", WebOptions(robots=False))

    assert "by proxy" in text(output)
    assert "private, local or reserved" in text(refused)
    assert site.paths() == ["http://public.example.com/"]


async def test_unknown_host_is_an_error_with_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolver({}))

    assert "DNS lookup failed for nowhere.example.com" in text(await fetched(tmp_path, "https://nowhere.example.com/"))


class resolver:  # noqa: N801  it stands for the function
    """`socket.getaddrinfo` with these answers; after the first look-up of a name, with those in `then`."""

    def __init__(self, answers: dict[str, list[str]], then: dict[str, list[str]] | None = None) -> None:
        self.names: list[str] = []
        self._answers = answers
        self._then = then or answers
        self._real = socket.getaddrinfo

    def __call__(self, host: str, port: int, *rest: object, **more: object) -> list[object]:
        if host in ("127.0.0.1", "::1"):
            return self._real(host, port, *rest, **more)  # type: ignore[arg-type]
        answers = self._then if host in self.names else self._answers
        self.names.append(host)
        if host not in answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in answers[host]]
