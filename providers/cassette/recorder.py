"""Writes down what passes between a provider and its service."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from harness.lazy_dataclass import dataclass
from harness.messages import JsonValue, new_id
from providers.cassette.file import CassetteFile, chunk_record
from providers.cassette.secrets import Secrets, SecretStream, redacted_headers

if TYPE_CHECKING:
    import httpx

# They speak of bytes that are not kept as they came.
OF_THE_WAY = frozenset(("content-encoding", "content-length", "transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose exchanges they are: what a replay needs to understand them."""

    preset: str
    model: str
    base_url: str


class Recorder:
    """Records all that a client of httpx sends and gets."""

    def __init__(self, tape: CassetteFile, origin: Origin, secrets: Secrets) -> None:
        self._tape = tape
        self._origin = origin
        self._secrets = secrets

    def asked(self, request: httpx.Request) -> str:
        """Note a request; hands back the name of its exchange."""
        exchange_id = new_id()[:8]
        # Before the body is looked at: what they tell in secret may stand there too.
        self._secrets.learn_from(request.headers)
        url = self._secrets.redacted_url(str(request.url))
        self._tape.write(
            {
                "type": "request",
                "id": exchange_id,
                "time": round(time.time(), 3),
                "preset": self._origin.preset,
                "model": self._origin.model,
                "base_url": self._secrets.redacted_url(self._origin.base_url),
                "method": request.method,
                "url": url,
                "headers": redacted_headers(request.headers),
                "body": _parsed(self._secrets.redacted(request.content)),
            },
            self._secrets,
        )
        return exchange_id

    def failed(self, exchange_id: str, how: str) -> None:
        """Note that no whole answer came, and the name of what went wrong."""
        self._tape.write({"type": "end", "id": exchange_id, "how": how}, self._secrets)

    def answered(self, exchange_id: str, status: int, headers: Mapping[str, str]) -> ResponseRecorder:
        """Note how an answer begins; the rest is told to what this hands back."""
        kept = {name: value for name, value in headers.items() if name.lower() not in OF_THE_WAY}
        self._tape.write(
            {
                "type": "response",
                "id": exchange_id,
                "time": round(time.time(), 3),
                "status": status,
                "headers": redacted_headers(kept),
            },
            self._secrets,
        )
        return ResponseRecorder(exchange_id, self._tape, self._secrets, headers.get("content-encoding", "identity"))


class ResponseRecorder:
    """The bytes of one answer, as they come."""

    def __init__(self, exchange_id: str, tape: CassetteFile, secrets: Secrets, encoding: str) -> None:
        self._id = exchange_id
        self._tape = tape
        self._secrets = secrets
        self._stream = SecretStream(secrets)
        self._unpacked = _unpacking(encoding)
        self._began = time.monotonic()
        self._is_over = False

    def chunk(self, chunk: bytes) -> None:
        if plain := self._unpacked(chunk):
            self._write(self._stream.feed(time.monotonic() - self._began, plain))

    def end(self, how: str) -> None:
        """Note the end, once: `whole`, `left` by us, or the name of what went wrong."""
        if self._is_over:
            return
        self._is_over = True
        self._write(self._stream.finish())
        self._tape.write({"type": "end", "id": self._id, "how": how}, self._secrets)

    def _write(self, chunks: list[tuple[float, bytes]]) -> None:
        for after, chunk in chunks:
            self._tape.write(chunk_record(self._id, after, chunk), self._secrets)


def _parsed(content: bytes) -> JsonValue:
    try:
        parsed: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
    return parsed


def _unpacking(encoding: str) -> Callable[[bytes], bytes]:
    """Bytes as they were before they were packed, since a secret in packed ones is not seen."""
    if encoding == "identity":
        return lambda chunk: chunk
    if encoding not in ("gzip", "deflate"):
        # Not asked for, and not to be looked into: better nothing than a secret.
        return lambda chunk: b""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def unpack(chunk: bytes) -> bytes:
        try:
            return unpacker.decompress(chunk)
        except zlib.error:
            return b""

    return unpack
