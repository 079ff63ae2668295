"""Decoder of Ollama's chat lines; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from harness.deltas import BlockDelta, BlockEnd, BlockStart, Delta, Done
from harness.messages import StopReason, Usage, new_id
from harness.ports.provider import ToolSpec
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain
from providers.wire.text_tool_calls import Piece, TextPiece, TextToolCalls, ThinkingPiece
from providers.wire.tool_call_dialects import Call

if TYPE_CHECKING:
    from providers.net.stream import ReplyDecoder

STOP_REASONS: Mapping[str, StopReason] = {"stop": "stop", "length": "length"}
# Errors inside a stream have no status; only their text identifies them.
STREAM_ERROR_STATUS = 500


class FunctionPart(TypedDict, total=False):
    name: str | None
    arguments: dict[str, Any] | str | None


class CallPart(TypedDict, total=False):
    id: str | None
    function: FunctionPart | None


class MessagePart(TypedDict, total=False):
    content: str | None
    thinking: str | None
    tool_calls: list[CallPart] | None


class Line(TypedDict, total=False):
    message: MessagePart | None
    done: bool | None
    done_reason: str | None
    prompt_eval_count: int | None
    eval_count: int | None
    error: str | dict[str, Any] | None


class LineReplyDecoder:
    """Decodes one reply. Thinking, text and complete tool calls come in any order; the last line is `done`."""

    def __init__(self, endpoint: Endpoint, tools: Sequence[ToolSpec] = ()) -> None:
        self._endpoint = endpoint
        self._written = TextToolCalls(tools)
        self._usage = Usage()
        self._reason = ""
        self._blocks = 0
        self._block: tuple[Literal["text", "thinking"], int] | None = None
        self._ids: set[str] = set()
        self.is_over = False

    @property
    def is_complete(self) -> bool:
        return self.is_over

    def take(self, event: Line) -> Sequence[Delta]:
        """Return the deltas of one line.

        Raises:
            ProviderError: The line is an error.
        """
        if event.get("error"):
            raise failure(self._endpoint, STREAM_ERROR_STATUS, json.dumps(event), {})
        message = event.get("message")
        found = tuple(self._message_deltas(message)) if message else ()
        if event.get("done"):
            self.is_over = True
            self._reason = event.get("done_reason") or "stop"
            self._usage = Usage(event.get("prompt_eval_count") or 0, event.get("eval_count") or 0)
        return found

    def finish(self) -> Sequence[Delta]:
        rest = tuple(self._pieces(self._written.finish()))
        stop = STOP_REASONS.get(self._reason, "error")
        error = None if stop != "error" else f"the service stopped the reply: {plain(self._reason)}"
        if stop == "stop" and self._ids:
            stop = "tool_use"
        return (*rest, *self._end_block(), Done(stop, self._usage, error=error))

    def _message_deltas(self, message: MessagePart) -> Iterator[Delta]:
        if thought := message.get("thinking"):
            yield from self._say("thinking", thought)
        if text := message.get("content"):
            yield from self._pieces(self._written.feed(text))
        if calls := message.get("tool_calls"):
            yield from self._pieces(self._written.finish())
            yield from self._end_block()
            for call in calls:
                yield from self._call(call)

    def _pieces(self, pieces: Iterable[Piece]) -> Iterator[Delta]:
        """Yield the deltas of text with the thinking and calls that a model wrote into it, as its template lacks
        others."""
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    yield from self._say("text", text)
                case ThinkingPiece(text):
                    yield from self._say("thinking", text)
                case Call():
                    yield from self._end_block()
                    yield from self._call({"function": {"name": piece.name, "arguments": piece.arguments}})

    def _say(self, kind: Literal["text", "thinking"], text: str) -> Iterator[Delta]:
        if self._block is None or self._block[0] != kind:
            # Line ends between thinking and calls are not text.
            if not text.strip() and self._blocks:
                return
            yield from self._end_block()
            self._block = (kind, self._new_index())
            yield BlockStart(self._block[1], kind)
        yield BlockDelta(self._block[1], text)

    def _end_block(self) -> Iterator[Delta]:
        if self._block is not None:
            yield BlockEnd(self._block[1])
        self._block = None

    def _call(self, call: CallPart) -> Iterator[Delta]:
        function = call.get("function") or {}
        arguments = function.get("arguments") or {}
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        index = self._new_index()
        yield BlockStart(index, "tool_call", self._id_of(call), function.get("name") or "")
        yield BlockDelta(index, written)
        yield BlockEnd(index)

    def _id_of(self, call: CallPart) -> str:
        """Return the call's id; earlier versions of Ollama send none."""
        given = call.get("id") or ""
        call_id = f"call_{new_id()[:12]}" if not given or given in self._ids else given
        self._ids.add(call_id)
        return call_id

    def _new_index(self) -> int:
        self._blocks += 1
        return self._blocks - 1


if TYPE_CHECKING:
    _: type[ReplyDecoder] = LineReplyDecoder
