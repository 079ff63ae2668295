"""The HTTP client of an endpoint, with its open connections.

httpx is imported and the client built at the first request, or before by `warm`: together that takes a quarter second.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from harness.concurrency.cancellation import run_uninterrupted
from harness.errors import RequestRejected
from providers.endpoint import Endpoint
from providers.net.proxies import Proxy, proxy_for
from providers.net.tls import ssl_context, unused_context

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT_SECONDS = 30.0
SILENCE_SECONDS = 120.0
# A model on this machine may have to be loaded first, and reads long prompts slowly.
LOCAL_SILENCE_SECONDS = 600.0
# Over the tools of most turns, and under what servers and routers on the way put up with.
KEPT_SECONDS = 55.0
# Of a machine that slept or changed its network, the connections are dead and do not know it.
UNHEARD_SECONDS = 30.0


class _Connections:
    """HTTP client of one event loop, and the number of requests that use it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.users = 0
        self.is_closing = False


class Pool:
    """HTTP clients of an endpoint, one for each event loop, built at the first request.

    Agents may share a pool: `close` does not cut off an answer that is still being read.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.proxy: Proxy | None = None
        """What the client goes through, once it is built."""
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._spare: httpx.AsyncClient | None = None
        self._open: dict[asyncio.AbstractEventLoop, _Connections] = {}

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[httpx.AsyncClient]:
        """The client of the running event loop, in use until the block ends.

        Raises:
            RequestRejected: the environment names a proxy or certificates that cannot be used.
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
        """Close the connections of the running event loop, at once or when the last answer on them has ended."""
        self._spare = None
        loop = asyncio.get_running_loop()
        connections = self._open.get(loop)
        if connections is not None:
            connections.is_closing = True
            await self._close_unused(loop, connections)

    def warm(self) -> None:
        """Load everything that a first request needs; from any thread.

        Raises:
            RequestRejected: as `client`.
        """
        with self._lock:
            if self._spare is None and not self._open:
                self._spare = self._build()
        _load_backend()

    def _connect(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            for ended in [each for each in self._open if each.is_closed()]:
                # Connections belong to the loop that opened them, and ended with it.
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
        wire = self._endpoint.wire
        return self._usual() if wire is None else wire.client(self._usual)

    def _usual(self) -> httpx.AsyncClient:
        import httpx

        from providers.net.reconnecting import ReconnectingTransport

        endpoint = self._endpoint
        silence = LOCAL_SILENCE_SECONDS if endpoint.preset.is_local or endpoint.is_loopback else SILENCE_SECONDS
        context = ssl_context(os.environ) if endpoint.is_encrypted else unused_context()
        self.proxy = proxy_for(endpoint.base_url, os.environ)
        # Not HTTP/2: over that, httpcore does not tell the server of an abort, and the model goes on at one's cost.
        transport = ReconnectingTransport(
            verify=context,
            proxy=_usable(self.proxy, context) if self.proxy else None,
            # As many as there are sub-agents at work: who waits for a connection only seems to hang.
            limits=httpx.Limits(max_keepalive_connections=20, keepalive_expiry=KEPT_SECONDS),
            socket_options=_socket_options(),
        )
        timeout = httpx.Timeout(silence, connect=CONNECT_SECONDS)
        return httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)


def _usable(proxy: Proxy, context: ssl.SSLContext) -> httpx.Proxy:
    import httpx

    try:
        usable = httpx.Proxy(proxy.url, ssl_context=context if proxy.is_encrypted else None)
    except (ValueError, httpx.InvalidURL):
        usable = None
    if usable is None or not usable.url.host:
        # Outside the clause above, whose error may quote the password.
        form = "http://host:port or socks5://host:port"
        raise RequestRejected(f"{proxy.source} names no proxy that can be used; it should read like {form}")
    # Of each step it takes, httpcore logs all it knows, the password of the proxy included.
    logging.getLogger("httpcore.socks").setLevel(logging.INFO)
    return usable


def _socket_options() -> list[tuple[int, int, int]]:
    # Linux has it; elsewhere such a request ends with the clock of silence.
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return []
    return [(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(UNHEARD_SECONDS * 1000))]


def _import_httpx() -> None:
    """Import httpx without its command line, which brings click, rich and pygments and takes a sixth of the start.

    httpx does without it where it cannot be imported; such is a module that is None.
    """
    if "httpx" in sys.modules:
        return
    command_line = "httpx._main"
    sys.modules[command_line] = None  # pyright: ignore[reportArgumentType] - the language allows it, its stubs do not
    try:
        importlib.import_module("httpx")
    finally:
        sys.modules.pop(command_line, None)


def _load_backend() -> None:
    """Have httpx's way of waiting loaded: a loop does so when it first waits, and would hold up the first request."""
    import anyio

    # In a thread of its own, since the caller's may run a loop.
    waiting = threading.Thread(target=anyio.run, args=(anyio.sleep, 0))
    waiting.start()
    waiting.join()
