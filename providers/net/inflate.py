"""Decompression of responses in bounded pieces and up to a limit: a few bytes can expand to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

PIECE_BYTES = 64 * 1024
LARGEST_INFLATED = 64 * 1024 * 1024
"""Decompressed bytes of a response; more than the longest replies."""
MOST_INFLATION = 200
"""Decompressed bytes per received byte; streamed replies have about thirty."""
ALWAYS_INFLATED = 1024 * 1024
"""Decompressed bytes below which the ratio is not checked: short runs of one byte are harmless."""


class Inflater(Protocol):
    """Decoder of one body, fed with its bytes as they arrive."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes in pieces of bounded size.

        Raises:
            InflateError: The data is damaged or too large.
        """
        ...


class InflateError(Exception):
    """A compressed body is damaged, or larger than is accepted."""


def inflater(content_encoding: str) -> Inflater:
    """Return the decoder for a `Content-Encoding` header; unknown encodings are passed through as they are."""
    encodings = [each for part in content_encoding.lower().split(",") if (each := part.strip()) not in ("", "identity")]
    if len(encodings) > 1:
        raise InflateError(f"compressed more than once ({', '.join(encodings)})")
    return _Zlib() if encodings and encodings[0] in ("gzip", "x-gzip", "deflate") else _Plain()


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data


class _Zlib:
    """gzip, zlib, and deflate without a header, which some servers send; recognized by the first bytes."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._is_first = True
        self._received = self._count = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._received += len(data)
        is_full = False
        # After a full piece the decoder may hold more output although all input is consumed.
        while data or is_full:
            piece = self._decompress(data)
            data, is_full = self._decoder.unconsumed_tail, len(piece) == PIECE_BYTES
            self._count += len(piece)
            if self._count > self._limit:
                raise InflateError(f"the decompressed response is too large: more than {self._count // 1024} KiB")
            if piece:
                yield piece

    @property
    def _limit(self) -> int:
        return min(LARGEST_INFLATED, max(ALWAYS_INFLATED, self._received * MOST_INFLATION))

    def _decompress(self, data: bytes) -> bytes:
        is_first, self._is_first = self._is_first, False
        try:
            return self._decoder.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            if not is_first:
                raise InflateError(f"the compressed data is damaged ({error})") from error
        self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._decompress(data)
