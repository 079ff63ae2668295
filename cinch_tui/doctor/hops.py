"""A connection made by hand, hop by hop, so that the one that fails can be named."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime

from cinch_tui.doctor.findings import Finding
from cinch_tui.doctor.route import Gate, Route
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
class Line:
    """An open connection to the next hop."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, host: str, port: int) -> Line:
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


async def pass_proxy(line: Line, route: Route, gate: Gate) -> Finding:
    """Have the proxy connect us to the service; raises OSError."""
    if gate.is_socks:
        return await _pass_socks(line, route, gate)
    answer = await line.ask(_connect_request(route, gate))
    words = answer.partition("\r\n")[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdecimal():
        told = f"what answers at {gate.shown}, from {gate.source}, is no HTTP proxy"
        return Finding("bad", "", told, f"name the right one: export {gate.variable}=http://HOST:PORT", "proxy")
    return _verdict(int(words[1]), words[2] if len(words) > 2 else "", route, gate)


def _connect_request(route: Route, gate: Gate) -> str:
    head = f"CONNECT {route.shown} HTTP/1.1\r\nHost: {route.shown}\r\n"
    if gate.username:
        pair = b64encode(f"{gate.username}:{gate.password}".encode()).decode()
        head += f"Proxy-Authorization: Basic {pair}\r\n"
    return f"{head}\r\n"


def _verdict(status: int, reason: str, route: Route, gate: Gate) -> Finding:
    if status < 300:
        return Finding("ok", "", f"{gate.shown} lets us through to {route.shown}", step="proxy")
    said = f"{status} {reason}".strip()
    if status == WRONG_PASSWORD:
        return _wants_password(gate, said)
    if status >= 500:
        told = f"{gate.shown} does not reach {route.shown} ({said})"
        return Finding("bad", "", told, "is the base URL right? If so, ask whoever runs the proxy", "proxy")
    told = f"{gate.shown} does not let us through to {route.shown} ({said})"
    mend = f"ask whoever runs the proxy to allow {route.shown}, or add {route.host} to NO_PROXY to go without it"
    return Finding("bad", "", told, mend, "proxy")


def _wants_password(gate: Gate, said: str) -> Finding:
    told = "refuses the name and password that it was given" if gate.username else "wants a name and a password"
    mend = f"export {gate.variable}={gate.scheme}://NAME:PASSWORD@{gate.shown}"
    return Finding("bad", "", f"{gate.shown} {told} ({said})", mend, "proxy")


async def _pass_socks(line: Line, route: Route, gate: Gate) -> Finding:
    try:
        method = await _socks_greeting(line, gate)
        if method == 0xFF or (method == 2 and not await _socks_login(line, gate)):
            return _wants_password(gate, "SOCKS")
        refusal = await _socks_connect(line, route)
    except asyncio.IncompleteReadError:
        refusal = None
    if refusal == 0:
        return Finding("ok", "", f"{gate.shown} lets us through to {route.shown}", step="proxy")
    if refusal is None:
        told = f"what answers at {gate.shown}, from {gate.source}, is no SOCKS proxy"
        return Finding("bad", "", told, f"name the right one: export {gate.variable}=socks5://HOST:PORT", "proxy")
    told = f"{gate.shown} does not connect us to {route.shown}: {SOCKS_REFUSALS.get(refusal, 'it refuses')}"
    return Finding("bad", "", told, f"ask whoever runs the proxy to allow {route.shown}", "proxy")


async def _socks_greeting(line: Line, gate: Gate) -> int:
    line.writer.write(b"\x05\x01\x02" if gate.username else b"\x05\x01\x00")
    version, method = await line.reader.readexactly(2)
    if version != 5:
        raise asyncio.IncompleteReadError(b"", 2)
    return method


async def _socks_login(line: Line, gate: Gate) -> bool:
    name, password = gate.username.encode()[:255], gate.password.encode()[:255]
    line.writer.write(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
    return (await line.reader.readexactly(2))[1] == 0


async def _socks_connect(line: Line, route: Route) -> int:
    host = route.host.encode("idna")
    line.writer.write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host + route.port.to_bytes(2, "big"))
    _, refusal, _, kind = await line.reader.readexactly(4)
    length = {1: 4, 4: 16}.get(kind) or (await line.reader.readexactly(1))[0]
    await line.reader.readexactly(length + 2)
    return refusal


async def date_told(line: Line, host: str) -> datetime | None:
    """What time the server says it is; None where it does not say."""
    # Its reader is slow to import.
    from email.utils import parsedate_to_datetime

    head = await line.ask(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: cinch\r\nConnection: close\r\n\r\n")
    headers = dict(line.lower().split(":", 1) for line in head.split("\r\n") if ":" in line)
    with suppress(ValueError):
        return parsedate_to_datetime(headers.get("date", "").strip()).astimezone(UTC)
    return None
