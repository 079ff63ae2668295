"""httpx transport that answers from a cassette instead of the network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx

from harness.messages import JsonValue
from providers.cassette.file import WHOLE, Exchange
from providers.cassette.replay_queue import ReplayQueue

FAILURES: dict[str, type[httpx.TransportError]] = {
    each.__name__: each
    for each in (
        httpx.ConnectTimeout,
        httpx.ConnectError,
        httpx.ProxyError,
        httpx.ReadTimeout,
        httpx.ReadError,
        httpx.RemoteProtocolError,
    )
}


def playback_client(deck: ReplayQueue) -> httpx.AsyncClient:
    """Return a client that reaches nothing but the cassette."""
    return httpx.AsyncClient(transport=_Playback(deck), trust_env=False)


class _Playback(httpx.AsyncBaseTransport):
    def __init__(self, deck: ReplayQueue) -> None:
        self._deck = deck

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._deck.take(request.method, str(request.url), _body(await request.aread()))
        if exchange.status is None:
            kind = FAILURES.get(exchange.ending, httpx.ConnectError)
            raise kind("the recording ended before a response", request=request)
        return httpx.Response(exchange.status, headers=exchange.headers, stream=_Played(exchange))


class _Played(httpx.AsyncByteStream):
    """Response bytes as recorded, with their recorded end."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._exchange.chunks:
            yield chunk
        if self._exchange.ending != WHOLE:
            raise FAILURES.get(self._exchange.ending, httpx.ReadError)("the recorded response ends here")


def _body(content: bytes) -> JsonValue:
    try:
        body: JsonValue = json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
    return body
