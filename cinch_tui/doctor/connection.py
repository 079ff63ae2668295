"""Route of a request, directly to the service or through a proxy, and connections established hop by hop along it."""

from __future__ import annotations

import asyncio
import os
import ssl
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from harness.structs import Redacted
from providers.net.proxies import proxy_for

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
WRONG_PASSWORD = 407
SOCKS_REFUSALS = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "timed out",
}


class ProxyServer(Redacted, frozen=True):
    """A proxy server."""

    _hidden = ("username", "password")

    scheme: str
    host: str
    port: int
    source: str
    """The environment variable that sets it, or the system configuration."""

    username: str = ""
    password: str = ""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def variable(self) -> str:
        """The environment variable to set for another proxy."""
        return self.source if self.source.lower().endswith("_proxy") else "HTTPS_PROXY"


class ServiceRoute(Struct, frozen=True):
    host: str
    port: int
    is_encrypted: bool
    proxy: ProxyServer | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def meets_tls(self) -> bool:
        return self.is_encrypted or (self.proxy is not None and self.proxy.scheme == "https")

    @property
    def is_tunnelled(self) -> bool:
        """True if the proxy opens a tunnel; unencrypted requests are sent to an HTTP proxy directly."""
        return self.proxy is not None and (self.is_encrypted or self.proxy.is_socks)

    @property
    def next_hop(self) -> tuple[str, int]:
        """Host and port that cinch itself connects to."""
        return (self.proxy.host, self.proxy.port) if self.proxy else (self.host, self.port)

    @property
    def next_hop_text(self) -> str:
        return f"the proxy {self.proxy.address} (from {self.proxy.source})" if self.proxy else self.address


def route_to(url: str) -> ServiceRoute | None:
    """Return the route to a URL; None if the URL or that of the proxy is invalid."""
    try:
        parts, proxy = urlsplit(url), _proxy(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return ServiceRoute(host, port, parts.scheme == "https", proxy) if host and port else None


def _proxy(url: str) -> ProxyServer | None:
    proxy = proxy_for(url, os.environ)
    if proxy is None:
        return None
    parts = urlsplit(proxy.url)
    if not parts.hostname or not (port := parts.port or PORTS.get(parts.scheme)):
        raise ValueError("invalid proxy URL")
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    return ProxyServer(parts.scheme, parts.hostname, port, proxy.source, name, password)


class Connection(Struct):
    """An open connection to the next hop."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, host: str, port: int) -> Connection:
        """Open a connection; raises OSError."""
        # With a broken IPv6 route, IPv4 is tried after this delay.
        return cls(*await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25))

    async def secure(self, host: str, trust: ssl.SSLContext) -> None:
        """Start TLS; raises OSError, including `ssl.SSLError`."""
        await self.writer.start_tls(trust, server_hostname=host)

    async def ask(self, text: str) -> str:
        """Send an HTTP request and return the head of the response; empty if the connection was closed."""
        self.writer.write(text.encode())
        await self.writer.drain()
        try:
            return (await self.reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
        except asyncio.IncompleteReadError as error:
            return error.partial.decode(errors="replace")
        except asyncio.LimitOverrunError:
            return ""

    async def close(self) -> None:
        # No graceful shutdown is needed; the event loop closes the socket in its next iteration.
        self.writer.transport.abort()
        await asyncio.sleep(0)


class ProxyRefusal(Exception):
    """A proxy that does not connect to the service: what happened, and what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


async def pass_proxy(connection: Connection, route: ServiceRoute, proxy: ProxyServer) -> str:
    """Ask the proxy for a connection to the service, and return a description of its answer.

    Raises:
        OSError: the connection failed.
        ProxyRefusal: the proxy answered, but does not connect.
    """
    await (_pass_socks if proxy.is_socks else _pass_http)(connection, route, proxy)
    return f"{proxy.address} connects to {route.address}"


async def _pass_http(connection: Connection, route: ServiceRoute, proxy: ProxyServer) -> None:
    answer = await connection.ask(_connect_request(route, proxy))
    words = answer.partition("\r\n")[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        raise _not_a_proxy(proxy, "an HTTP proxy", "http")
    status, status_text = int(words[1]), " ".join(words[1:])
    if status == WRONG_PASSWORD:
        raise _wants_password(proxy, status_text)
    if status >= 500:
        message = f"{proxy.address} cannot reach {route.address} ({status_text})"
        raise ProxyRefusal(message, "check the base URL, or ask the administrator of the proxy")
    if status >= 300:
        message = f"{proxy.address} denies the connection to {route.address} ({status_text})"
        remedy = f"ask the administrator of the proxy to allow {route.address}, or add {route.host} to NO_PROXY"
        raise ProxyRefusal(message, remedy)


def _connect_request(route: ServiceRoute, proxy: ProxyServer) -> str:
    head = f"CONNECT {route.address} HTTP/1.1\r\nHost: {route.address}\r\n"
    if proxy.username:
        pair = b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        head += f"Proxy-Authorization: Basic {pair}\r\n"
    return f"{head}\r\n"


def _not_a_proxy(proxy: ProxyServer, kind: str, scheme: str) -> ProxyRefusal:
    message = f"{proxy.address}, from {proxy.source}, is not {kind}"
    return ProxyRefusal(message, f"set the correct proxy: export {proxy.variable}={scheme}://HOST:PORT")


def _wants_password(proxy: ProxyServer, status_text: str) -> ProxyRefusal:
    message = "rejects the user name and password" if proxy.username else "requires a user name and password"
    remedy = f"export {proxy.variable}={proxy.scheme}://NAME:PASSWORD@{proxy.address}"
    return ProxyRefusal(f"{proxy.address} {message} ({status_text})", remedy)


async def _pass_socks(connection: Connection, route: ServiceRoute, proxy: ProxyServer) -> None:
    try:
        method = await _socks_greeting(connection, proxy)
        if method == 0xFF or (method == 2 and not await _socks_login(connection, proxy)):
            raise _wants_password(proxy, "SOCKS")
        refusal = await _socks_connect(connection, route)
    except asyncio.IncompleteReadError as error:
        raise _not_a_proxy(proxy, "a SOCKS proxy", "socks5") from error
    if refusal:
        reason = SOCKS_REFUSALS.get(refusal, "refused")
        message = f"{proxy.address} denies the connection to {route.address}: {reason}"
        raise ProxyRefusal(message, f"ask the administrator of the proxy to allow {route.address}")


async def _socks_greeting(connection: Connection, proxy: ProxyServer) -> int:
    connection.writer.write(b"\x05\x01\x02" if proxy.username else b"\x05\x01\x00")
    version, method = await connection.reader.readexactly(2)
    if version != 5:
        raise asyncio.IncompleteReadError(b"", 2)
    return method


async def _socks_login(connection: Connection, proxy: ProxyServer) -> bool:
    name, password = proxy.username.encode()[:255], proxy.password.encode()[:255]
    connection.writer.write(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
    return (await connection.reader.readexactly(2))[1] == 0


async def _socks_connect(connection: Connection, route: ServiceRoute) -> int:
    host = route.host.encode("idna")
    connection.writer.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host + route.port.to_bytes(2, "big"))
    _, refusal, _, kind = await connection.reader.readexactly(4)
    length = {1: 4, 4: 16}.get(kind) or (await connection.reader.readexactly(1))[0]
    await connection.reader.readexactly(length + 2)
    return refusal


async def server_date(connection: Connection, host: str) -> datetime | None:
    """Return the time in the server's Date header; None if it sends none."""
    # Slow to import.
    from email.utils import parsedate_to_datetime

    head = await connection.ask(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: cinch\r\nConnection: close\r\n\r\n")
    headers = dict(line.lower().split(":", 1) for line in head.split("\r\n") if ":" in line)
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("date", "").strip()).astimezone(UTC)
    return None
