"""Decoder of Amazon's binary event stream.

A frame: its length, the length of its headers, a checksum of both; headers; a JSON payload; a checksum of the whole.
An event is returned as JSON with its kind as the only key, as in the service's model: `{"messageStop": {…}}`.

Source: `vnd.amazon.eventstream`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from functools import lru_cache
from zlib import crc32

from harness.errors import StreamError
from providers.net.framing import Framing

PRELUDE = struct.Struct("!III")
CHECKSUM_BYTES = 4
LONGEST_HEADERS = 128 * 1024
LONGEST_FRAME = 24 * 1024 * 1024 + LONGEST_HEADERS

BYTES, STRING = 6, 7
SIZES: Mapping[int, int] = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header value by its type; the other types have a length before the value."""


class FrameDecoder(Framing):
    """Takes the stream in arbitrary chunks and returns complete events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[str]:
        """Return the events that end in this chunk.

        Raises:
            StreamError: A frame is damaged or too long.
        """
        self._rest += chunk
        events: list[str] = []
        while self._rest and (frame := self._next_frame()):
            events.append(_event(frame))
        return events

    def finish(self) -> list[str]:
        """Drop an incomplete frame."""
        self._rest.clear()
        return []

    def _next_frame(self) -> bytes:
        """Return the first frame, verified and removed; empty if it is incomplete."""
        # The first byte of the length is enough to recognize something else, however short.
        if self._rest[0] > LONGEST_FRAME >> 24:
            raise StreamError("the service sent invalid data: not an event stream")
        if len(self._rest) < PRELUDE.size:
            return b""
        length, headers_length, checksum = PRELUDE.unpack_from(self._rest)
        if crc32(self._rest[: PRELUDE.size - CHECKSUM_BYTES]) != checksum:
            raise StreamError("the service sent invalid data: not an event stream, or a damaged one")
        if length > LONGEST_FRAME or headers_length > min(LONGEST_HEADERS, length - PRELUDE.size - CHECKSUM_BYTES):
            raise StreamError("the service sent an event with an invalid length")
        if len(self._rest) < length:
            return b""
        frame = bytes(self._rest[:length])
        del self._rest[:length]
        if crc32(frame[:-CHECKSUM_BYTES]) != int.from_bytes(frame[-CHECKSUM_BYTES:]):
            raise StreamError("the service sent an event with a wrong checksum")
        return frame


def _event(frame: bytes) -> str:
    _, headers_length, _ = PRELUDE.unpack_from(frame)
    start = PRELUDE.size + headers_length
    kind, failure = _kind_and_error(frame[PRELUDE.size : start])
    payload = frame[start:-CHECKSUM_BYTES].decode(errors="replace")
    return f"{{{kind}:{failure or payload or '{}'}}}"


@lru_cache(maxsize=32)
def _kind_and_error(head: bytes) -> tuple[str, str]:
    """Return the kind of an event by its headers, and an error given in them alone, both as JSON.

    Cached, since all events of a kind have the same headers.
    """
    headers = _headers(head)
    kind = headers.get(":exception-type") or headers.get(":event-type") or headers.get(":message-type", "")
    error = {"code": headers.get(":error-code"), "message": headers.get(":error-message")}
    return json.dumps(kind), json.dumps(error) if kind == "error" else ""


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers with text values, which are all that identify an event."""
    headers: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            end = place + 1 + data[place]
            kind, start = data[end], end + 1
            if kind in (BYTES, STRING):
                size, start = int.from_bytes(data[start : start + 2]), start + 2
            else:
                size = SIZES[kind]
            if kind == STRING:
                headers[data[place + 1 : end].decode()] = data[start : start + size].decode()
            place = start + size
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise StreamError("the service sent an event with invalid headers") from error
    return headers
