"""Where a recorder listens in on a client of httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from providers.cassette.recorder import LEFT, WHOLE, Heard, Recorder

EXCHANGE = "cinch_exchange"


def listen(client: httpx.AsyncClient, recorder: Recorder) -> httpx.AsyncClient:
    """The same client, all of whose exchanges are told to the recorder."""

    async def asked(request: httpx.Request) -> None:
        await request.aread()
        request.extensions[EXCHANGE] = recorder.asked(request)

    async def answered(response: httpx.Response) -> None:
        heard = recorder.answered(response.request.extensions[EXCHANGE], response.status_code, response.headers)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = HeardStream(response.stream, heard)

    # What is packed cannot be searched for secrets.
    client.headers["accept-encoding"] = "identity"
    client.event_hooks = {"request": [asked], "response": [answered]}
    return client


class HeardStream(httpx.AsyncByteStream):
    """The bytes of an answer, which a recorder hears too."""

    def __init__(self, stream: httpx.AsyncByteStream, heard: Heard) -> None:
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
