"""Bytes of a stream of JSON lines turned into its lines, as they arrive.

A line end never lies inside a UTF-8 sequence, and JSON holds none, so that bytes may be cut anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import StreamError
from providers.net.sse import BYTE_ORDER_MARK, LONGEST_LINE

if TYPE_CHECKING:
    from providers.net.stream import Framing


class LineDecoder:
    """Takes the stream in chunks cut anywhere; hands back each line that is complete and not blank."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that end in this chunk.

        Raises:
            StreamError: a line has no end.
        """
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise StreamError("the service sent a line without an end")
        return [text for line in lines if (text := _text(line))]

    def finish(self) -> list[str]:
        """The last line, if the stream ended without the line end that should follow it."""
        text = _text(self._rest)
        self._rest = b""
        return [text] if text else []


def _text(line: bytes) -> str:
    return line.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").strip()


if TYPE_CHECKING:
    _: type[Framing] = LineDecoder
