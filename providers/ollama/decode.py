"""Decoder of Ollama's chat lines; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from harness.deltas import Delta, Done
from harness.messages import StopReason, Usage
from harness.ports.provider import ToolSpec
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain
from providers.net.stream import ReplyDecoder
from providers.openai_chat.wire_types import CallPart
from providers.wire.blocks import BlockWriter
from providers.wire.text_tool_calls import TextToolCalls

STOP_REASONS: Mapping[str, StopReason] = {"stop": "stop", "length": "length"}
# Errors inside a stream have no status; only their text identifies them.
STREAM_ERROR_STATUS = 500


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


class LineReplyDecoder(ReplyDecoder):
    """Decodes one reply. Thinking, text and complete tool calls come in any order; the last line is `done`."""

    def __init__(self, endpoint: Endpoint, tools: Sequence[ToolSpec] = ()) -> None:
        self._endpoint = endpoint
        # For calls and thinking in text, which a model writes if its template supports no others.
        self._text_parser = TextToolCalls(tools)
        self._usage = Usage()
        self._reason = ""
        self._blocks = BlockWriter()
        self._ids: set[str] = set()

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
        rest = tuple(self._blocks.write(self._text_parser.finish()))
        stop = STOP_REASONS.get(self._reason, "error")
        error = None if stop != "error" else f"the service stopped the reply: {plain(self._reason)}"
        if stop == "stop" and self._blocks.has_calls:
            stop = "tool_use"
        return (*rest, *self._blocks.close(), Done(stop, self._usage, error=error))

    def _message_deltas(self, message: MessagePart) -> Iterator[Delta]:
        if thought := message.get("thinking"):
            yield from self._blocks.say("thinking", thought)
        if text := message.get("content"):
            yield from self._blocks.write(self._text_parser.feed(text))
        if calls := message.get("tool_calls"):
            yield from self._blocks.write(self._text_parser.finish())
            for call in calls:
                yield from self._call(call)

    def _call(self, call: CallPart) -> Iterator[Delta]:
        function = call.get("function") or {}
        arguments = function.get("arguments") or {}
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        # Earlier versions of Ollama send no id.
        call_id = call.get("id") or ""
        yield from self._blocks.call(function.get("name") or "", written, "" if call_id in self._ids else call_id)
        self._ids.add(call_id)
