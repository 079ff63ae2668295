"""Recorder of the exchanges between a provider and its service."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from harness.messages import JsonValue, new_id
from providers.cassette.file import CassetteFile, chunk_record
from providers.cassette.secrets import Secrets, SecretStream, redacted_headers
from providers.net.inflate import InflateError, Inflater

if TYPE_CHECKING:
    import httpx

# They describe the transferred bytes, which are not stored.
TRANSFER_HEADERS = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class Origin(Struct, frozen=True):
    """Service of the exchanges, as needed for a replay."""

    preset: str
    model: str
    base_url: str


class Recorder:
    """Writes requests and responses of an httpx client to a cassette."""

    def __init__(self, tape: CassetteFile, origin: Origin, secrets: Secrets) -> None:
        self._tape = tape
        self._origin = origin
        self._secrets = secrets

    def asked(self, request: httpx.Request) -> str:
        """Record a request; return the id of its exchange."""
        exchange_id = new_id()[:8]
        # Before the body: it may contain the secrets of the headers.
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
                "body": parsed_body(self._secrets.redacted(request.content)),
            },
            self._secrets,
        )
        return exchange_id

    def failed(self, exchange_id: str, how: str) -> None:
        """Record that no complete response arrived, and the name of the error."""
        self._tape.write({"type": "end", "id": exchange_id, "how": how}, self._secrets)

    def answered(self, exchange_id: str, status: int, headers: Mapping[str, str]) -> ResponseRecorder:
        """Record the start of a response; return the recorder of its body."""
        kept = {name: value for name, value in headers.items() if name.lower() not in TRANSFER_HEADERS}
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
    """Records the bytes of one response as they arrive."""

    def __init__(self, exchange_id: str, tape: CassetteFile, secrets: Secrets, encoding: str) -> None:
        self._id = exchange_id
        self._tape = tape
        self._secrets = secrets
        self._stream = SecretStream(secrets)
        # Secrets in compressed bytes are not found: what was not requested and is not readable is not recorded.
        self._inflater = Inflater(encoding) if encoding in ("identity", "gzip", "deflate") else None
        self._began = time.monotonic()
        self._is_over = False

    def chunk(self, chunk: bytes) -> None:
        try:
            plain = b"".join(self._inflater.feed(chunk)) if self._inflater else b""
        except InflateError:
            self._inflater = None
            return
        if plain:
            self._write(self._stream.feed(time.monotonic() - self._began, plain))

    def end(self, how: str) -> None:
        """Record the end, once: `whole`, `left` by us, or the name of the error."""
        if self._is_over:
            return
        self._is_over = True
        self._write(self._stream.finish())
        self._tape.write({"type": "end", "id": self._id, "how": how}, self._secrets)

    def _write(self, chunks: list[tuple[float, bytes]]) -> None:
        for after, chunk in chunks:
            self._tape.write(chunk_record(self._id, after, chunk), self._secrets)


def parsed_body(content: bytes) -> JsonValue:
    """Return the body of a request as JSON if it is, otherwise as text."""
    try:
        parsed: JsonValue = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")
    return parsed
