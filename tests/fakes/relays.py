"""Servers between a client and a local server: TLS, an HTTP proxy, a SOCKS proxy; over real sockets."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import threading
from contextlib import suppress
from urllib.parse import urlsplit

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """Relay of all bytes to `port` and back, in a thread; a context manager.

    With `tls`, it terminates the client's encryption. `connections` counts the clients.
    """

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self.connections = 0
        self._to = port
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def __enter__(self) -> Relay:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            tasks: set[asyncio.Task[None]] = set()

            def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                self.connections += 1
                tasks.add(group.create_task(self._serve((reader, writer))))

            server = await asyncio.start_server(come, "127.0.0.1", 0, ssl=self._tls)
            self.port = server.sockets[0].getsockname()[1]
            self._started.set()
            await self._stop.wait()
            server.close()
            for task in tasks:
                task.cancel()

    async def _serve(self, client: Ends) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            try:
                first = await self.admit(*client)
                if first is not None:
                    await self._connect(client, first)
            finally:
                client[1].close()

    async def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """Talk to a client first; return the bytes for the server, or None to reject the client."""
        del reader, writer
        return b""

    async def _connect(self, client: Ends, first: bytes) -> None:
        server = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            server[1].write(first)
            async with asyncio.TaskGroup() as group:
                ways = [group.create_task(_pipe(client[0], server[1])), group.create_task(_pipe(server[0], client[1]))]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in ways:
                    way.cancel()
        finally:
            server[1].close()


class HttpProxy(Relay):
    """HTTP proxy for CONNECT and absolute URLs. `login` is the required `user:password`; with `refusal`, such as
    `403 Forbidden`, every request is rejected. `asked` holds the requested targets."""

    def __init__(self, port: int, *, login: str = "", refusal: str = "", tls: ssl.SSLContext | None = None) -> None:
        super().__init__(port, tls=tls)
        self.asked: list[str] = []
        self._refusal = refusal
        self._login = base64.b64encode(login.encode()).decode()

    async def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        first = await reader.readexactly(1)
        if not first.isalpha():
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return None
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n")[0].split()
        self.asked.append(target)
        is_known = not self._login or f"Basic {self._login}" in head
        refusal = self._refusal if is_known else "407 Proxy Authentication Required"
        if refusal:
            page = b"<html><title>Blocked by policy</title></html>"
            writer.write(f"HTTP/1.1 {refusal}\r\ncontent-type: text/html\r\n".encode())
            writer.write(b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(page), page))
            await writer.drain()
            return None
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return b""
        return re.sub(r"proxy-.*\r\n", "", head.replace(target, urlsplit(target).path, 1), flags=re.IGNORECASE).encode()


class SocksProxy(Relay):
    """SOCKS 5 proxy. `login` is the required `user:password`. `asked` holds the requested names and ports."""

    def __init__(self, port: int, *, login: str = "") -> None:
        super().__init__(port)
        self.asked: list[str] = []
        self._login = login

    async def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        _, count = await reader.readexactly(2)
        offered = await reader.readexactly(count)
        method = 2 if self._login else 0
        writer.write(bytes([5, method if method in offered else 0xFF]))
        if method not in offered or (self._login and not await self._knows(reader, writer)):
            await writer.drain()
            return None
        head = await reader.readexactly(5)
        name, port = await reader.readexactly(head[4]), await reader.readexactly(2)
        self.asked.append(f"{name.decode()}:{int.from_bytes(port)}")
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        return b""

    async def _knows(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        said: list[str] = []
        await reader.readexactly(1)
        for _ in range(2):
            said.append((await reader.readexactly((await reader.readexactly(1))[0])).decode())
        is_known = ":".join(said) == self._login
        writer.write(bytes([1, 0 if is_known else 1]))
        return is_known


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
