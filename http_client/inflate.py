"""Decompression of responses in bounded pieces and up to a limit: a few bytes can expand to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE_BYTES = 64 * 1024
LARGEST_INFLATED = 64 * 1024 * 1024
"""Decompressed bytes of a response; more than the longest replies."""
MOST_INFLATION = 200
"""Decompressed bytes per received byte; streamed replies have about thirty."""
ALWAYS_INFLATED = 1024 * 1024
"""Decompressed bytes below which the ratio is not checked: short runs of one byte are harmless."""


class InflateError(Exception):
    """A compressed body is damaged, or larger than is accepted."""


class Inflater:
    """Decoder of one body, fed with its bytes as they arrive; other encodings than gzip and deflate pass through.

    gzip, zlib, and deflate without a header, which some servers send, are recognized by the first bytes.

    Args:
        content_encoding: `Content-Encoding` header.

    Raises:
        InflateError: The body is compressed more than once.
    """

    def __init__(self, content_encoding: str) -> None:
        encodings = [part.strip() for part in content_encoding.lower().split(",")]
        encodings = [each for each in encodings if each not in ("", "identity")]
        if len(encodings) > 1:
            raise InflateError(f"compressed more than once ({', '.join(encodings)})")
        self._is_compressed = bool(encodings) and encodings[0] in ("gzip", "x-gzip", "deflate")
        self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._is_first = True
        self._received = self._count = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes in pieces of bounded size.

        Raises:
            InflateError: The data is damaged or too large.
        """
        if not self._is_compressed:
            yield data
            return
        self._received += len(data)
        is_full = False
        # After a full piece the decoder may hold more output although all input is consumed.
        while data or is_full:
            piece = self._decompress(data)
            data, is_full = self._decoder.unconsumed_tail, len(piece) == PIECE_BYTES
            self._count += len(piece)
            if self._count > min(LARGEST_INFLATED, max(ALWAYS_INFLATED, self._received * MOST_INFLATION)):
                raise InflateError(f"the decompressed response is too large: more than {self._count // 1024} KiB")
            if piece:
                yield piece

    def _decompress(self, data: bytes) -> bytes:
        is_first, self._is_first = self._is_first, False
        try:
            return self._decoder.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            if not is_first:
                raise InflateError(f"the compressed data is damaged ({error})") from error
        self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        return self._decompress(data)
