"""httpx side of cassettes: hooks through which a recorder observes exchanges, and a transport that replays them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import ParamSpec

import httpx

from providers.cassette.file import LEFT, WHOLE, Exchange
from providers.cassette.recorder import Recorder, ResponseRecorder, parsed_body
from providers.cassette.replay_queue import ReplayQueue

EXCHANGE = "cinch_exchange"

Params = ParamSpec("Params")
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


def listen(client: httpx.AsyncClient, recorder: Recorder) -> httpx.AsyncClient:
    """Attach a recorder to a client and return the client."""

    async def asked(request: httpx.Request) -> None:
        await request.aread()
        request.extensions[EXCHANGE] = recorder.asked(request)

    async def answered(response: httpx.Response) -> None:
        recording = recorder.answered(response.request.extensions[EXCHANGE], response.status_code, response.headers)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = RecordedStream(response.stream, recording)

    # Compressed bodies cannot be searched for secrets.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks = {"request": [asked], "response": [answered]}
    # There is no hook for a request without a response.
    client.send = _recording_failures(client.send, recorder)  # pyright: ignore[reportAttributeAccessIssue] - wraps itself
    return client


def _recording_failures(
    send: Callable[Params, Coroutine[None, None, httpx.Response]], recorder: Recorder
) -> Callable[Params, Coroutine[None, None, httpx.Response]]:
    async def recorded(*args: Params.args, **kwargs: Params.kwargs) -> httpx.Response:
        try:
            return await send(*args, **kwargs)
        except httpx.TransportError as error:
            recorder.failed(error.request.extensions[EXCHANGE], type(error).__name__)
            raise

    return recorded


class RecordedStream(httpx.AsyncByteStream):
    """Response bytes, passed to a recorder as well."""

    def __init__(self, stream: httpx.AsyncByteStream, recording: ResponseRecorder) -> None:
        self._stream = stream
        self._recording = recording

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._recording.chunk(chunk)
                yield chunk
        except httpx.TransportError as error:
            self._recording.end(type(error).__name__)
            raise
        self._recording.end(WHOLE)

    async def aclose(self) -> None:
        self._recording.end(LEFT)
        await self._stream.aclose()


def playback_client(deck: ReplayQueue) -> httpx.AsyncClient:
    """Return a client that reaches nothing but the cassette."""
    return httpx.AsyncClient(transport=_Playback(deck), trust_env=False)


class _Playback(httpx.AsyncBaseTransport):
    def __init__(self, deck: ReplayQueue) -> None:
        self._deck = deck

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._deck.take(request.method, str(request.url), parsed_body(await request.aread()))
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
