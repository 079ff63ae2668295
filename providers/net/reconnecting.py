"""httpx's way to a service, with another try where a kept connection turns out to be dead."""

from __future__ import annotations

from collections.abc import Mapping

import httpcore
import httpx


class ReconnectingTransport(httpx.AsyncHTTPTransport):
    """A server may close a connection that rests in the pool just when a request goes out on it. Nobody has answered
    then, and the request goes out again; in the end on a new connection, since each dead one leaves the pool."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        while True:
            way = _Way()
            request.extensions = {**request.extensions, "trace": way.note}
            try:
                return await super().handle_async_request(request)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if way.is_new:
                    await way.let_go()
                    raise
            except BaseException:
                await way.let_go()
                raise


class _Way:
    """What httpcore does for a request, as far as it matters."""

    def __init__(self) -> None:
        self.is_new = False
        """Whether a connection was opened for it."""
        self._to_socks: object = None

    async def note(self, step: str, details: Mapping[str, object]) -> None:
        self.is_new |= "connect_tcp" in step
        if step == "socks.connect_tcp.complete":
            self._to_socks = details["return_value"]

    async def let_go(self) -> None:
        """Close what httpcore leaves open: the connection to a SOCKS proxy that says no."""
        if isinstance(self._to_socks, httpcore.AsyncNetworkStream):
            await self._to_socks.aclose()
