"""Transports to remote servers: streamable HTTP, and SSE for servers of the first protocol version."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from http_client.pool import CONNECT_SECONDS
from tools.mcp.host import McpHost
from tools.mcp.network import NetworkTransport, is_authentication
from tools.mcp.server_config import McpServer
from tools.mcp.streams import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

FINAL_STATUSES = (401, 403, 407, 408, 429)
"""Rejections that say nothing about the transport."""


class Endpoint:
    """Address of a remote server. `status` is the HTTP status of the latest response."""

    def __init__(self, server: McpServer, host: McpHost) -> None:
        self._server = server
        self._host = host
        self.status = 0

    @property
    def needs_login(self) -> bool:
        """True if the server rejected the credentials."""
        return self.status == 401

    @property
    def suggests_sse(self) -> bool:
        """True if the server rejected streamable HTTP, so that it may be one of the first protocol version."""
        return 400 <= self.status < 500 and self.status not in FINAL_STATUSES

    @asynccontextmanager
    async def streamable(self) -> AsyncGenerator[TransportStreams]:
        """Connect by streamable HTTP."""
        async with (
            await self._client() as client,
            streamable_http_client(
                self._server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
            ) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def sse(self) -> AsyncGenerator[TransportStreams]:
        """Connect by the transport of protocol version 2024-11-05."""
        client = await self._client()

        def factory(*_: object, **__: object) -> httpx2.AsyncClient:
            return client

        async with sse_client(self._server.url, httpx_client_factory=factory) as streams:
            yield streams

    async def _client(self) -> httpx2.AsyncClient:
        auth = await self._host.authenticate(self._server)
        headers = self._server.headers
        if auth is None and self._server.auth.kind == "bearer":
            headers = headers | {"Authorization": f"Bearer {self._server.auth.token}"}
        return httpx2.AsyncClient(
            # A compressed response could expand to any size.
            headers=headers | {"Accept-Encoding": "identity"},
            auth=auth,
            transport=_LimitedTransport(NetworkTransport(self._host.environment), self),
            # A call may take long; its own time limit applies.
            timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
            trust_env=False,
        )


class _LimitedTransport(httpx2.AsyncBaseTransport):
    """Limits the size of responses, and notes their status."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, endpoint: Endpoint) -> None:
        self._transport = transport
        self._endpoint = endpoint

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._transport.handle_async_request(request)
        if request.method != "DELETE" and not is_authentication(request):
            self._endpoint.status = response.status_code
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        encoding = response.headers.get("content-encoding", "identity")
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return response
        # The SDK limits the events of a stream.
        most = None if is_stream else MAX_MESSAGE_BYTES
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_LimitedStream(response.stream, most if encoding == "identity" else 0),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int | None) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if self._most is not None and size > self._most:
                raise httpx2.StreamError(_too_large(self._most))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _too_large(most: int) -> str:
    return f"the answer has more than {most:,} bytes" if most else "the answer is compressed, which was not accepted"
