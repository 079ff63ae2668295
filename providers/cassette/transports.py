"""httpx transports that record exchanges to a cassette, or answer from one."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

import httpx

from harness.messages import JsonObject, JsonValue, new_id
from http_client.inflate import InflateError, Inflater
from providers.cassette.file import LEFT, WHOLE, CassetteFile, Exchange, chunk_record
from providers.cassette.replay_queue import ReplayQueue
from providers.cassette.secrets import SecretStream, redacted_headers
from providers.endpoint import Endpoint

# They describe the transferred bytes, which are not stored.
TRANSFER_HEADERS = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class RecordingTransport(httpx.AsyncBaseTransport):
    """Sends requests to a model's endpoint through another transport and writes the exchanges to a cassette."""

    def __init__(
        self, transport: httpx.AsyncBaseTransport, tape: CassetteFile, endpoint: Endpoint, model_id: str
    ) -> None:
        self._transport = transport
        self._tape = tape
        self._endpoint = endpoint
        self._model_id = model_id

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # Compressed bodies cannot be searched for secrets.
        request.headers["accept-encoding"] = "identity"
        exchange_id = new_id()[:8]
        self._tape.write("request", exchange_id, self._described(request, await request.aread()))
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.TransportError as error:
            self._tape.write("end", exchange_id, {"how": type(error).__name__})
            raise
        kept = {name: value for name, value in response.headers.items() if name.lower() not in TRANSFER_HEADERS}
        fields: JsonObject = {"time": round(time.time(), 3), "status": response.status_code}
        self._tape.write("response", exchange_id, {**fields, "headers": redacted_headers(kept)})
        assert isinstance(response.stream, httpx.AsyncByteStream)
        encoding = response.headers.get("content-encoding", "identity")
        response.stream = RecordedStream(response.stream, exchange_id, self._tape, encoding)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()

    def _described(self, request: httpx.Request, content: bytes) -> JsonObject:
        secrets = self._tape.secrets
        # Before the body: it may contain the secrets of the headers.
        secrets.learn_from(request.headers)
        url = secrets.redacted_url(str(request.url))
        return {
            "time": round(time.time(), 3),
            "preset": self._endpoint.preset.name,
            "model": self._model_id,
            "base_url": secrets.redacted_url(self._endpoint.base_url),
            "method": request.method,
            "url": url,
            "headers": redacted_headers(request.headers),
            "body": _parsed(secrets.redacted(content)),
        }


class RecordedStream(httpx.AsyncByteStream):
    """Response bytes, written to a cassette as they are read."""

    def __init__(self, stream: httpx.AsyncByteStream, exchange_id: str, tape: CassetteFile, encoding: str) -> None:
        self._stream = stream
        self._id = exchange_id
        self._tape = tape
        self._redacting = SecretStream(tape.secrets)
        # Secrets in compressed bytes are not found: what was not requested and is not readable is not recorded.
        self._inflater = Inflater(encoding) if encoding in ("identity", "gzip", "deflate") else None
        self._began = time.monotonic()
        self._is_over = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                self._record(chunk)
                yield chunk
        except httpx.TransportError as error:
            self._end(type(error).__name__)
            raise
        self._end(WHOLE)

    async def aclose(self) -> None:
        self._end(LEFT)
        await self._stream.aclose()

    def _record(self, chunk: bytes) -> None:
        try:
            plain = b"".join(self._inflater.feed(chunk)) if self._inflater else b""
        except InflateError:
            self._inflater = None
            return
        if plain:
            self._write(self._redacting.feed(time.monotonic() - self._began, plain))

    def _end(self, how: str) -> None:
        """Record the end, once: `whole`, `left` by us, or the name of the error."""
        if not self._is_over:
            self._is_over = True
            self._write(self._redacting.finish())
            self._tape.write("end", self._id, {"how": how})

    def _write(self, chunks: list[tuple[float, bytes]]) -> None:
        for after, chunk in chunks:
            self._tape.write("chunk", self._id, chunk_record(after, chunk))


def replaying_transport(queue: ReplayQueue) -> httpx.AsyncBaseTransport:
    """Return a transport that answers from a cassette."""

    def answer(request: httpx.Request) -> httpx.Response:
        exchange = queue.take(request.method, str(request.url), _parsed(request.content))
        if exchange.status is None:
            raise _failure(exchange, httpx.ConnectError)("the recording ended before a response", request=request)
        return httpx.Response(exchange.status, headers=exchange.headers, content=_replayed(exchange))

    return httpx.MockTransport(answer)


async def _replayed(exchange: Exchange) -> AsyncIterator[bytes]:
    """Yield the response bytes as recorded, and end as the response ended."""
    for chunk in exchange.chunks:
        yield chunk
    if exchange.ending != WHOLE:
        raise _failure(exchange, httpx.ReadError)("the recorded response ends here")


def _failure(exchange: Exchange, default: type[httpx.TransportError]) -> type[httpx.TransportError]:
    """Return the error with which an exchange ended."""
    kind: object = getattr(httpx, exchange.ending, None)
    return kind if isinstance(kind, type) and issubclass(kind, httpx.TransportError) else default


def _parsed(content: bytes) -> JsonValue:
    """Return the body of a request as JSON if it is, otherwise as text."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
