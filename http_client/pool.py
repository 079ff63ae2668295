"""HTTP clients of a server and their open connections.

httpx is imported and the client built with the first request, or earlier by `warm`: together this takes 250 ms.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from harness.concurrency import run_uninterrupted
from http_client.addresses import is_loopback
from http_client.logged_urls import hide_secrets_in_logs
from http_client.proxies import Proxy, client_proxy, proxy_for
from http_client.tls import ssl_context, unused_context

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 30.0
READ_SECONDS = 120.0
# A local model may have to be loaded first, and evaluates long prompts slowly.
LOCAL_READ_SECONDS = 600.0
# Longer than the tool calls of most turns, shorter than the idle timeouts of servers and routers.
KEEP_ALIVE_SECONDS = 55.0
# After sleep or a change of network, connections are dead without notice.
UNACKNOWLEDGED_SECONDS = 30.0

Wire: TypeAlias = "Callable[[Callable[[], httpx.AsyncBaseTransport]], httpx.AsyncBaseTransport]"
"""Stands between a provider and the network, to record or replay exchanges.

It returns the HTTP transport to use; its argument creates the usual one.
"""


class _Connections:
    """HTTP client of one event loop, and the number of requests using it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.users = 0
        self.is_closing = False


class Pool:
    """HTTP clients of a server, one per event loop, built with the first request.

    Agents may share a pool: `close` does not interrupt a response that is being read.

    Args:
        url: Base URL; chooses proxy and certificates.
        is_local: True for a server that runs on this machine and may need minutes to start its response.
        wire: Recording or replay; None uses the network directly.
    """

    def __init__(self, url: str, *, is_local: bool = False, wire: Wire | None = None) -> None:
        self.proxy: Proxy | None = None
        """Proxy of the client, once it is built."""
        self._url = url
        self._is_local = is_local or is_loopback(urlsplit(url).hostname or "")
        self._wire = wire
        self._lock = threading.Lock()
        self._spare: httpx.AsyncClient | None = None
        self._open: dict[asyncio.AbstractEventLoop, _Connections] = {}

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[httpx.AsyncClient]:
        """Yield the client of the running event loop.

        Raises:
            RequestRejected: The environment names an unusable proxy or certificate.
        """
        loop = asyncio.get_running_loop()
        while (connections := self._open.get(loop)) is None:
            await asyncio.to_thread(self._connect, loop)
        connections.users += 1
        try:
            yield connections.client
        finally:
            connections.users -= 1
            await self._close_unused(loop, connections)

    async def close(self) -> None:
        """Close the connections of the running event loop, at once or after the last response in progress."""
        self._spare = None
        loop = asyncio.get_running_loop()
        connections = self._open.get(loop)
        if connections is not None:
            connections.is_closing = True
            await self._close_unused(loop, connections)

    def warm(self) -> None:
        """Load everything that a first request needs; may be called from any thread.

        Raises:
            RequestRejected: As `client`.
        """
        with self._lock:
            if self._spare is None and not self._open:
                self._spare = self._build()
        _load_backend()

    def _connect(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            for ended in [each for each in self._open if each.is_closed()]:
                # Connections belong to the loop that opened them and ended with it.
                del self._open[ended]
            if loop not in self._open:
                self._open[loop] = _Connections(self._spare or self._build())
                self._spare = None

    async def _close_unused(self, loop: asyncio.AbstractEventLoop, connections: _Connections) -> None:
        if connections.users or not connections.is_closing:
            return
        if self._open.get(loop) is connections:
            del self._open[loop]
        await run_uninterrupted(connections.client.aclose())

    def _build(self) -> httpx.AsyncClient:
        _import_httpx()
        hide_secrets_in_logs("httpx")
        import httpx

        transport = self._wire(self._new_transport) if self._wire else self._new_transport()
        read_timeout = LOCAL_READ_SECONDS if self._is_local else READ_SECONDS
        timeout = httpx.Timeout(read_timeout, connect=CONNECT_SECONDS)
        return httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)

    def _new_transport(self) -> httpx.AsyncBaseTransport:
        import httpx

        from http_client.reconnecting import ReconnectingTransport

        context = ssl_context(os.environ) if self._url.startswith("https:") else unused_context()
        self.proxy = proxy_for(self._url, os.environ)
        # Not HTTP/2: httpcore does not signal an abort to the server, and generation continues at the user's cost.
        return ReconnectingTransport(
            verify=context,
            proxy=client_proxy(httpx.Proxy, httpx.InvalidURL, self.proxy, context) if self.proxy else None,
            # No limit on connections: subagents waiting for one would appear to hang.
            limits=httpx.Limits(max_keepalive_connections=20, keepalive_expiry=KEEP_ALIVE_SECONDS),
            socket_options=_socket_options(),
        )


def _socket_options() -> list[tuple[int, int, int]]:
    # Linux only; elsewhere such a request ends with the read timeout.
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return []
    return [(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(UNACKNOWLEDGED_SECONDS * 1000))]


def _import_httpx() -> None:
    """Import httpx without its command line, which imports click, rich and pygments and takes a sixth of the start-up
    time.

    httpx tolerates that its command line cannot be imported; a module that is None cannot.
    """
    if "httpx" in sys.modules:
        return
    command_line = "httpx._main"
    sys.modules[command_line] = None  # pyright: ignore[reportArgumentType] # allowed by the language, not by its stubs
    try:
        importlib.import_module("httpx")
    finally:
        sys.modules.pop(command_line, None)


def _load_backend() -> None:
    """Load the anyio backend, which would otherwise be loaded by, and delay, the first request."""
    import anyio

    # In a separate thread, since the caller's may run an event loop.
    waiting = threading.Thread(target=anyio.run, args=(anyio.sleep, 0))
    waiting.start()
    waiting.join()
