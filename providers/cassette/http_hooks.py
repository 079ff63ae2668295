"""Where a recorder listens in on a client of httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import ParamSpec

import httpx

from providers.cassette.file import LEFT, WHOLE
from providers.cassette.recorder import Recorder, ResponseRecorder

EXCHANGE = "cinch_exchange"

Way = ParamSpec("Way")


def listen(client: httpx.AsyncClient, recorder: Recorder) -> httpx.AsyncClient:
    """The same client, all of whose exchanges are told to the recorder."""

    async def asked(request: httpx.Request) -> None:
        await request.aread()
        request.extensions[EXCHANGE] = recorder.asked(request)

    async def answered(response: httpx.Response) -> None:
        heard = recorder.answered(response.request.extensions[EXCHANGE], response.status_code, response.headers)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = RecordedStream(response.stream, heard)

    # What is packed cannot be searched for secrets.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks = {"request": [asked], "response": [answered]}
    # No hook tells of a request that nothing came of.
    client.send = _noting_failures(client.send, recorder)  # pyright: ignore[reportAttributeAccessIssue] - wraps itself
    return client


def _noting_failures(
    send: Callable[Way, Coroutine[None, None, httpx.Response]], recorder: Recorder
) -> Callable[Way, Coroutine[None, None, httpx.Response]]:
    async def noted(*args: Way.args, **kwargs: Way.kwargs) -> httpx.Response:
        try:
            return await send(*args, **kwargs)
        except httpx.TransportError as error:
            recorder.failed(error.request.extensions[EXCHANGE], type(error).__name__)
            raise

    return noted


class RecordedStream(httpx.AsyncByteStream):
    """The bytes of an answer, which a recorder hears too."""

    def __init__(self, stream: httpx.AsyncByteStream, heard: ResponseRecorder) -> None:
        self._stream = stream
        self._heard = heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._heard.chunk(chunk)
                yield chunk
        except httpx.TransportError as error:
            self._heard.end(type(error).__name__)
            raise
        self._heard.end(WHOLE)

    async def aclose(self) -> None:
        self._heard.end(LEFT)
        await self._stream.aclose()
