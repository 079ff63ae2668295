"""httpx transport that retries on a new connection if a pooled one turns out to be dead."""

from __future__ import annotations

from collections.abc import Mapping

import httpcore
import httpx


class ReconnectingTransport(httpx.AsyncHTTPTransport):
    """Resends a request if a pooled connection failed before any response: the server may have closed it just then.

    Each dead connection leaves the pool, so the last attempt uses a new one.
    """

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        while True:
            attempt = _Attempt()
            request.extensions = {**request.extensions, "trace": attempt.note}
            try:
                return await super().handle_async_request(request)
            except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                if attempt.is_new:
                    await attempt.close_leftover()
                    raise
            except BaseException:
                await attempt.close_leftover()
                raise


class _Attempt:
    """Trace of an attempt, as far as it matters."""

    def __init__(self) -> None:
        self.is_new = False
        """True if a connection was opened for it."""
        self._to_socks: object = None

    async def note(self, step: str, details: Mapping[str, object]) -> None:
        self.is_new |= "connect_tcp" in step
        if step == "socks.connect_tcp.complete":
            self._to_socks = details["return_value"]

    async def close_leftover(self) -> None:
        """Close what httpcore leaves open: the connection to a SOCKS proxy that rejected the request."""
        if isinstance(self._to_socks, httpcore.AsyncNetworkStream):
            await self._to_socks.aclose()
