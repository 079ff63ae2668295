"""The echo-wire format: requests and the decoder of responses.

A request is one POST to `/talk`. The response is JSON Lines: `{"say": "…"}` for more text,
`{"use": {"id", "tool", "with"}}` for a tool call, `{"problem": {"status", "text"}}` for an error, and
`{"end": "done" | "full", "read": n, "wrote": n}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness import (
    AssistantMessage,
    BlockDelta,
    BlockEnd,
    BlockStart,
    Delta,
    Done,
    JsonObject,
    Message,
    Request,
    ToolResult,
    Usage,
    UserMessage,
)
from providers.plugins import Endpoint, Framing, LineDecoder, ReplyDecoder, WireFormat, failure


class EchoWire:
    """Stateless: one instance serves all requests."""

    def format_request(self, request: Request) -> tuple[str, JsonObject]:
        body: JsonObject = {
            "model": request.spec.model_id,
            "rules": request.system,
            "turns": [turn for message in request.messages for turn in turns_of(message)],
            "tools": [
                {"tool": tool.name, "about": tool.description, "takes": tool.parameters} for tool in request.tools
            ],
        }
        if request.max_tokens is not None:
            body["most"] = request.max_tokens
        return "/talk", body

    def framing(self) -> Framing:
        return LineDecoder()

    def decoder(self, endpoint: Endpoint) -> ReplyDecoder:
        return EchoDecoder(endpoint)


def turns_of(message: Message) -> Iterator[JsonObject]:
    """Yield a message in echo-wire, which supports neither images nor thinking."""
    match message:
        case UserMessage():
            yield {"who": "user", "says": message.text}
        case AssistantMessage():
            if message.text:
                yield {"who": "model", "says": message.text}
            for call in message.tool_calls:
                yield {"who": "model", "use": {"id": call.id, "tool": call.name, "with": call.arguments}}
        case ToolResult():
            yield {"who": "tool", "id": message.call_id, "says": message.text, "failed": message.is_error}
        case _:
            return


class EchoDecoder:
    """Decoder of one response. Each text or tool call is a block with its own index."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._blocks = 0
        self._text: int | None = None
        self._has_calls = False
        self._end: dict[str, Any] = {}
        self.is_over = False

    @property
    def is_complete(self) -> bool:
        """Return False for a response without its `end`: cinch retries it and runs none of its calls."""
        return self.is_over

    def take(self, event: dict[str, Any]) -> Sequence[Delta]:
        match event:
            case {"say": str(text)}:
                return tuple(self._add_text(text))
            case {"use": {"id": str(call_id), "tool": str(tool), "with": arguments}}:
                return (*self._end_text(), *self._use(call_id, tool, json.dumps(arguments)))
            case {"problem": {"status": int(status), "text": str(text)}}:
                # Status and text are interpreted like those of an HTTP error: wait, shorten or give up.
                raise failure(self._endpoint, status, text, {})
            case {"end": _}:
                self._end, self.is_over = event, True
                return ()
            case _:
                # A later version of the server may send other events.
                return ()

    def finish(self) -> Sequence[Delta]:
        usage = Usage(input=self._end.get("read", 0), output=self._end.get("wrote", 0))
        stop = "length" if self._end["end"] == "full" else "tool_use" if self._has_calls else "stop"
        return (*self._end_text(), Done(stop, usage))

    def _add_text(self, text: str) -> Iterator[Delta]:
        if self._text is None:
            self._text = self._new_block()
            yield BlockStart(self._text, "text")
        yield BlockDelta(self._text, text)

    def _end_text(self) -> Iterator[Delta]:
        if self._text is not None:
            yield BlockEnd(self._text)
        self._text = None

    def _use(self, call_id: str, tool: str, arguments: str) -> Iterator[Delta]:
        self._has_calls = True
        block = self._new_block()
        yield BlockStart(block, "tool_call", call_id, tool)
        yield BlockDelta(block, arguments)
        yield BlockEnd(block)

    def _new_block(self) -> int:
        self._blocks += 1
        return self._blocks - 1


if TYPE_CHECKING:
    _: tuple[type[WireFormat], type[ReplyDecoder]] = (EchoWire, EchoDecoder)
