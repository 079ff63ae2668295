"""Blocks of a reply in formats that send only pieces of content; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta
from harness.messages import new_id
from providers.wire.text_tool_calls import Piece, TextPiece, ThinkingPiece
from providers.wire.tool_call_dialects import ParsedCall


def new_call_id() -> str:
    """Return an id for a tool call that came without one."""
    return f"call_{new_id()[:12]}"


class BlockWriter:
    """Numbers the blocks of a reply; a block ends when another kind of content comes.

    Args:
        end_of: Returns the end of a text or thinking block; by default one without citations and signature.
    """

    def __init__(self, end_of: Callable[[int, BlockKind], BlockEnd] | None = None) -> None:
        self.has_calls = False
        self._end_of = end_of
        self._count = 0
        self._open: BlockKind | None = None
        self.index = 0
        """Number of the last text or thinking block."""

    def new_index(self) -> int:
        self._count += 1
        return self._count - 1

    def write(self, pieces: Iterable[Piece]) -> Iterator[Delta]:
        """Yield the deltas of text, and of the thinking and the calls that a model wrote into it."""
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    yield from self.say("text", text)
                case ThinkingPiece(text):
                    yield from self.say("thinking", text)
                case ParsedCall(name, arguments):
                    yield from self.call(name, arguments)

    def say(self, kind: BlockKind, text: str) -> Iterator[Delta]:
        if self._open != kind:
            # Many servers send line ends between thinking and calls, which belong to no block.
            if self._count and not text.strip():
                return
            yield from self.start(kind)
        yield BlockDelta(self.index, text)

    def start(self, kind: BlockKind) -> Iterator[Delta]:
        """Start a text or thinking block, unless one is open."""
        if self._open != kind:
            yield from self.close()
            self._open, self.index = kind, self.new_index()
            yield BlockStart(self.index, kind)

    def call(self, name: str, arguments: str, call_id: str = "", signature: str | None = None) -> Iterator[Delta]:
        """Yield a complete tool call."""
        yield from self.close()
        self.has_calls = True
        index = self.new_index()
        yield BlockStart(index, "tool_call", call_id or new_call_id(), name)
        yield BlockDelta(index, arguments)
        yield BlockEnd(index, signature)

    def close(self) -> Iterator[Delta]:
        """End the open block."""
        kind, self._open = self._open, None
        if kind is not None:
            yield self._end_of(self.index, kind) if self._end_of else BlockEnd(self.index)
