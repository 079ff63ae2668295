"""A connection made by hand, hop by hop, so that the one that fails can be named."""

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
    1: "it failed",
    2: "it may not",
    3: "it does not reach that network",
    4: "it does not reach that host",
    5: "nothing listens there",
    6: "it took too long",
}


@dataclass(slots=True)
class Connection:
    """An open connection to the next hop."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, host: str, port: int) -> Connection:
        """Raises OSError."""
        # Where an address of the newer kind leads nowhere, the other one is soon tried.
        return cls(*await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25))

    async def secure(self, host: str, trust: ssl.SSLContext) -> None:
        """Talk TLS from here on; raises OSError, of which `ssl.SSLError` is one."""
        await self.writer.start_tls(trust, server_hostname=host)

    async def ask(self, text: str) -> str:
        """The head of the answer to an HTTP request; empty where the other side hung up."""
        self.writer.write(text.encode())
        await self.writer.drain()
        try:
            return (await self.reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
        except asyncio.IncompleteReadError as error:
            return error.partial.decode(errors="replace")
        except asyncio.LimitOverrunError:
            return ""

    async def close(self) -> None:
        # Nobody waits for a polite end; the loop closes the socket in its next round.
        self.writer.transport.abort()
        await asyncio.sleep(0)


async def pass_proxy(line: Connection, route: Route, gate: Proxy) -> Finding:
    """Have the proxy connect us to the service; raises OSError."""
    if gate.is_socks:
        return await _pass_socks(line, route, gate)
    answer = await line.ask(_connect_request(route, gate))
    words = answer.partition("\r\n")[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        told = f"what answers at {gate.address}, from {gate.source}, is no HTTP proxy"
        return Finding("bad", "", told, f"name the right one: export {gate.variable}=http://HOST:PORT", "proxy")
    return _verdict(int(words[1]), words[2] if len(words) > 2 else "", route, gate)


def _connect_request(route: Route, gate: Proxy) -> str:
    head = f"CONNECT {route.address} HTTP/1.1\r\nHost: {route.address}\r\n"
    if gate.username:
        pair = b64encode(f"{gate.username}:{gate.password}".encode()).decode()
        head += f"Proxy-Authorization: Basic {pair}\r\n"
    return f"{head}\r\n"


def _verdict(status: int, reason: str, route: Route, gate: Proxy) -> Finding:
    if status < 300:
        return Finding("ok", "", f"{gate.address} lets us through to {route.address}", step="proxy")
    said = f"{status} {reason}".strip()
    if status == WRONG_PASSWORD:
        return _wants_password(gate, said)
    if status >= 500:
        told = f"{gate.address} does not reach {route.address} ({said})"
        return Finding("bad", "", told, "is the base URL right? If so, ask whoever runs the proxy", "proxy")
    told = f"{gate.address} does not let us through to {route.address} ({said})"
    mend = f"ask whoever runs the proxy to allow {route.address}, or add {route.host} to NO_PROXY to go without it"
    return Finding("bad", "", told, mend, "proxy")


def _wants_password(gate: Proxy, said: str) -> Finding:
    told = "refuses the name and password that it was given" if gate.username else "wants a name and a password"
    mend = f"export {gate.variable}={gate.scheme}://NAME:PASSWORD@{gate.address}"
    return Finding("bad", "", f"{gate.address} {told} ({said})", mend, "proxy")


async def _pass_socks(line: Connection, route: Route, gate: Proxy) -> Finding:
    try:
        method = await _socks_greeting(line, gate)
        if method == 0xFF or (method == 2 and not await _socks_login(line, gate)):
            return _wants_password(gate, "SOCKS")
        refusal = await _socks_connect(line, route)
    except asyncio.IncompleteReadError:
        refusal = None
    if refusal == 0:
        return Finding("ok", "", f"{gate.address} lets us through to {route.address}", step="proxy")
    if refusal is None:
        told = f"what answers at {gate.address}, from {gate.source}, is no SOCKS proxy"
        return Finding("bad", "", told, f"name the right one: export {gate.variable}=socks5://HOST:PORT", "proxy")
    told = f"{gate.address} does not connect us to {route.address}: {SOCKS_REFUSALS.get(refusal, 'it refuses')}"
    return Finding("bad", "", told, f"ask whoever runs the proxy to allow {route.address}", "proxy")


async def _socks_greeting(line: Connection, gate: Proxy) -> int:
    line.writer.write(b"\x05\x01\x02" if gate.username else b"\x05\x01\x00")
    version, method = await line.reader.readexactly(2)
    if version != 5:
        raise asyncio.IncompleteReadError(b"", 2)
    return method


async def _socks_login(line: Connection, gate: Proxy) -> bool:
    name, password = gate.username.encode()[:255], gate.password.encode()[:255]
    line.writer.write(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
    return (await line.reader.readexactly(2))[1] == 0


async def _socks_connect(line: Connection, route: Route) -> int:
    host = route.host.encode("idna")
    line.writer.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host + route.port.to_bytes(2, "big"))
    _, refusal, _, kind = await line.reader.readexactly(4)
    length = {1: 4, 4: 16}.get(kind) or (await line.reader.readexactly(1))[0]
    await line.reader.readexactly(length + 2)
    return refusal


async def server_date(line: Connection, host: str) -> datetime | None:
    """What time the server says it is; None where it does not say."""
    # Its reader is slow to import.
    from email.utils import parsedate_to_datetime

    head = await line.ask(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: cinch\r\nConnection: close\r\n\r\n")
    headers = dict(line.lower().split(":", 1) for line in head.split("\r\n") if ":" in line)
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("date", "").strip()).astimezone(UTC)
    return None
