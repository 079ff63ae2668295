"""Decoder of a local model's text; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.messages import StopReason, Usage, new_id
from providers.wire.text_tool_calls import Piece, TextPiece, TextToolCalls, ThinkingPiece

Speech = Literal["text", "thinking"]


class WrittenReplyDecoder:
    """Decodes one reply from its text in pieces."""

    def __init__(self, written: TextToolCalls) -> None:
        self._written = written
        self._speech: Speech | None = None
        self._blocks = 0
        self._has_called = False

    def take(self, text: str) -> Sequence[Delta]:
        return tuple(self._deltas(self._written.feed(text)))

    def finish(self, stop: StopReason, usage: Usage) -> Sequence[Delta]:
        """Return the deltas that close the reply, `Done` last."""
        rest = [*self._deltas(self._written.finish()), *self._end_speech()]
        return (*rest, Done("tool_use" if stop == "stop" and self._has_called else stop, usage))

    def _deltas(self, pieces: Iterable[Piece]) -> Iterator[Delta]:
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    yield from self._say("text", text)
                case ThinkingPiece(text):
                    yield from self._say("thinking", text)
                case _:
                    yield from self._end_speech()
                    yield from self._call(piece.name, piece.arguments)

    def _say(self, kind: Speech, text: str) -> Iterator[Delta]:
        if self._speech != kind:
            yield from self._end_speech()
            self._speech = kind
            self._blocks += 1
            yield BlockStart(self._blocks - 1, kind)
        yield BlockDelta(self._blocks - 1, text)

    def _end_speech(self) -> Iterator[Delta]:
        if self._speech is not None:
            yield BlockEnd(self._blocks - 1)
        self._speech = None

    def _call(self, name: str, arguments: str) -> Iterator[Delta]:
        self._has_called = True
        index = self._blocks
        self._blocks += 1
        yield BlockStart(index, "tool_call", f"call_{new_id()[:12]}", name)
        yield BlockDelta(index, arguments)
        yield BlockEnd(index)
