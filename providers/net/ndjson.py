"""Incremental decoder of newline-delimited JSON.

A line end is never part of a UTF-8 sequence or of JSON, so the stream may be cut anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import StreamError
from providers.net.sse import BYTE_ORDER_MARK, LONGEST_LINE

if TYPE_CHECKING:
    from providers.net.stream import Framing


class LineDecoder:
    """Takes the stream in arbitrary chunks and returns complete lines that are not blank."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that end in this chunk.

        Raises:
            StreamError: A line is too long.
        """
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise StreamError("the service sent a line that is too long")
        return [text for line in lines if (text := _text(line))]

    def finish(self) -> list[str]:
        """Return the last line, if the stream ended without a line end."""
        text = _text(self._rest)
        self._rest = b""
        return [text] if text else []


def _text(line: bytes) -> str:
    return line.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").strip()


if TYPE_CHECKING:
    _: type[Framing] = LineDecoder
