"""Connections established hop by hop, to identify the hop that fails."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime

from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.route import Proxy, Route
from harness.lazy_dataclass import dataclass

WRONG_PASSWORD = 407
SOCKS_REFUSALS = {
    1: "general failure",
    2: "not allowed",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "timed out",
}


@dataclass(slots=True)
class Connection:
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


async def pass_proxy(connection: Connection, route: Route, proxy: Proxy) -> Finding:
    """Ask the proxy for a connection to the service; raises OSError."""
    if proxy.is_socks:
        return await _pass_socks(connection, route, proxy)
    answer = await connection.ask(_connect_request(route, proxy))
    words = answer.partition("\r\n")[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        message = f"{proxy.address}, from {proxy.source}, is not an HTTP proxy"
        return Finding("bad", "", message, f"set the correct proxy: export {proxy.variable}=http://HOST:PORT", "proxy")
    return _judge_answer(int(words[1]), words[2] if len(words) > 2 else "", route, proxy)


def _connect_request(route: Route, proxy: Proxy) -> str:
    head = f"CONNECT {route.address} HTTP/1.1\r\nHost: {route.address}\r\n"
    if proxy.username:
        pair = b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        head += f"Proxy-Authorization: Basic {pair}\r\n"
    return f"{head}\r\n"


def _judge_answer(status: int, reason: str, route: Route, proxy: Proxy) -> Finding:
    if status < 300:
        return Finding("ok", "", f"{proxy.address} connects to {route.address}", step="proxy")
    status_text = f"{status} {reason}".strip()
    if status == WRONG_PASSWORD:
        return _wants_password(proxy, status_text)
    if status >= 500:
        message = f"{proxy.address} cannot reach {route.address} ({status_text})"
        return Finding("bad", "", message, "check the base URL, or ask the administrator of the proxy", "proxy")
    message = f"{proxy.address} denies the connection to {route.address} ({status_text})"
    remedy = f"ask the administrator of the proxy to allow {route.address}, or add {route.host} to NO_PROXY"
    return Finding("bad", "", message, remedy, "proxy")


def _wants_password(proxy: Proxy, status_text: str) -> Finding:
    message = "rejects the user name and password" if proxy.username else "requires a user name and password"
    remedy = f"export {proxy.variable}={proxy.scheme}://NAME:PASSWORD@{proxy.address}"
    return Finding("bad", "", f"{proxy.address} {message} ({status_text})", remedy, "proxy")


async def _pass_socks(connection: Connection, route: Route, proxy: Proxy) -> Finding:
    try:
        method = await _socks_greeting(connection, proxy)
        if method == 0xFF or (method == 2 and not await _socks_login(connection, proxy)):
            return _wants_password(proxy, "SOCKS")
        refusal = await _socks_connect(connection, route)
    except asyncio.IncompleteReadError:
        refusal = None
    if refusal == 0:
        return Finding("ok", "", f"{proxy.address} connects to {route.address}", step="proxy")
    if refusal is None:
        message = f"{proxy.address}, from {proxy.source}, is not a SOCKS proxy"
        return Finding(
            "bad", "", message, f"set the correct proxy: export {proxy.variable}=socks5://HOST:PORT", "proxy"
        )
    message = f"{proxy.address} denies the connection to {route.address}: {SOCKS_REFUSALS.get(refusal, 'refused')}"
    return Finding("bad", "", message, f"ask the administrator of the proxy to allow {route.address}", "proxy")


async def _socks_greeting(connection: Connection, proxy: Proxy) -> int:
    connection.writer.write(b"\x05\x01\x02" if proxy.username else b"\x05\x01\x00")
    version, method = await connection.reader.readexactly(2)
    if version != 5:
        raise asyncio.IncompleteReadError(b"", 2)
    return method


async def _socks_login(connection: Connection, proxy: Proxy) -> bool:
    name, password = proxy.username.encode()[:255], proxy.password.encode()[:255]
    connection.writer.write(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
    return (await connection.reader.readexactly(2))[1] == 0


async def _socks_connect(connection: Connection, route: Route) -> int:
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
