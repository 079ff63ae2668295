"""Hooks of an httpx client through which a recorder observes its exchanges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import ParamSpec

import httpx

from providers.cassette.file import LEFT, WHOLE
from providers.cassette.recorder import Recorder, ResponseRecorder

EXCHANGE = "cinch_exchange"

Params = ParamSpec("Params")


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
