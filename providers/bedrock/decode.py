"""Events of the Converse API turned into deltas; pure."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done
from harness.lazy_dataclass import dataclass
from harness.messages import Citation, StopReason, Usage, new_id
from providers.bedrock.wire_types import (
    BlockDeltaEvent,
    BlockPiece,
    BlockStartEvent,
    ExceptionEvent,
    StreamEvent,
    TokenUsage,
)
from providers.endpoint import Endpoint
from providers.net.http_errors import failure
from providers.wire.citations import Raw, as_object, citation, merged, objects

if TYPE_CHECKING:
    from providers.net.stream import ReplyDecoder

STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
BAD_ENDS = {
    "guardrail_intervened": "a guardrail of the account stopped the reply",
    "content_filtered": "the service's content filter stopped the reply",
    "malformed_model_output": "the model wrote something that the service could not read",
    "malformed_tool_use": "the model wrote a tool call that the service could not read",
}
STATUS_OF_EXCEPTION = {
    "accessDeniedException": 403,
    "modelNotReadyException": 429,
    "modelTimeoutException": 408,
    "resourceNotFoundException": 404,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}
"""All others are failures on the service's side, of which it says that one may ask again."""


@dataclass(slots=True)
class _Block:
    index: int
    kind: BlockKind
    signature: str = ""
    redacted: bytes = b""

    @property
    def end(self) -> BlockEnd:
        return BlockEnd(self.index, self.signature or None, b64encode(self.redacted).decode() or None)


class ConverseDecoder:
    """Decodes one reply. Only blocks of tool calls are said to begin; the others begin with their first words.

    The counts of tokens come after the reply's last event; where they stay away, the reply is complete without them.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: dict[int, _Block] = {}
        self._cited: dict[int, list[Raw]] = {}
        self._begun = 0
        self._stop = ""
        self._usage = Usage()
        self.is_over = False

    @property
    def is_complete(self) -> bool:
        return bool(self._stop)

    def take(self, event: StreamEvent) -> Sequence[Delta]:
        """The deltas of one event.

        Raises:
            ProviderError: the event is an error.
        """
        match event:
            case {"contentBlockDelta": piece}:
                return tuple(self._more(piece))
            case {"contentBlockStart": start}:
                return tuple(self._begin_call(start))
            case {"contentBlockStop": stop}:
                return tuple(self._close(stop["contentBlockIndex"]))
            case {"messageStop": last}:
                self._stop = last["stopReason"]
            case {"metadata": told}:
                self._usage = _counted(told.get("usage") or {})
                self.is_over = self.is_complete
            case _:
                self._look_for_failure(event)
        return ()

    def finish(self) -> Sequence[Delta]:
        ends = [delta for place in [*self._open] for delta in self._close(place)]
        error = BAD_ENDS.get(self._stop)
        stop = "error" if error else STOP_REASONS.get(self._stop, "stop")
        return (*ends, Done(stop, self._usage, "", error))

    def _begin_call(self, event: BlockStartEvent) -> Iterator[Delta]:
        # A block of a kind we did not ask for has nothing that we could show.
        if call := event["start"].get("toolUse"):
            given = call.get("toolUseId") or f"call_{new_id()[:12]}"
            yield from self._begin(event["contentBlockIndex"], "tool_call", given, call["name"])

    def _begin(self, place: int, kind: BlockKind, call_id: str = "", name: str = "") -> Iterator[Delta]:
        yield from self._close(place)
        self._open[place] = _Block(self._begun, kind)
        self._begun += 1
        yield BlockStart(self._open[place].index, kind, call_id, name)

    def _close(self, place: int) -> Iterator[Delta]:
        if block := self._open.pop(place, None):
            cited = self._cited.pop(place, None) if block.kind == "text" else None
            yield replace(block.end, citations=merged(map(_source, cited))) if cited else block.end

    def _more(self, event: BlockDeltaEvent) -> Iterator[Delta]:
        place, piece = event["contentBlockIndex"], event["delta"]
        if source := piece.get("citation"):
            self._cited.setdefault(place, []).append(as_object(source))
        kind = _kind_of(piece)
        block = self._open.get(place)
        if kind is None or (kind == "tool_call" and block is None):
            return
        if block is None or block.kind != kind:
            yield from self._begin(place, kind)
        yield from _told(self._open[place], piece)

    def _look_for_failure(self, event: StreamEvent) -> None:
        for name, told in event.items():
            if isinstance(told, dict) and (name.endswith("Exception") or name == "error"):
                # A failure has the same few fields whatever its name, of which the type above has only some.
                self._fail(name, ExceptionEvent(**told))  # pyright: ignore[reportUnknownArgumentType, reportArgumentType]

    def _fail(self, name: str, told: ExceptionEvent) -> NoReturn:
        said = told.get("message") or told.get("originalMessage") or name
        raise failure(self._endpoint, STATUS_OF_EXCEPTION.get(name, 500), json.dumps({"message": said}), {})


def _kind_of(piece: BlockPiece) -> BlockKind | None:
    if "text" in piece:
        return "text"
    if "reasoningContent" in piece:
        return "thinking"
    return "tool_call" if "toolUse" in piece else None


def _told(block: _Block, piece: BlockPiece) -> Iterator[Delta]:
    match piece:
        case {"text": text} | {"toolUse": {"input": text}} | {"reasoningContent": {"text": text}}:
            if text:
                yield BlockDelta(block.index, text)
        case {"reasoningContent": {"signature": signature}}:
            block.signature += signature
        case {"reasoningContent": {"redactedContent": data}}:
            block.redacted += b64decode(data)
        case _:
            pass


def _source(raw: Raw) -> Citation | None:
    """A page of the web, or something in what was sent; its places are the source's own."""
    web = as_object(as_object(raw.get("location")).get("web"))
    quote = "".join(str(piece.get("text") or "") for piece in objects(raw.get("sourceContent")))
    return citation(web.get("url") or raw.get("source"), raw.get("title") or web.get("domain"), quote)


def _counted(usage: TokenUsage) -> Usage:
    """The service counts what it read from the cache apart, as we do."""
    return Usage(
        usage.get("inputTokens", 0),
        usage.get("outputTokens", 0),
        usage.get("cacheReadInputTokens", 0),
        usage.get("cacheWriteInputTokens", 0),
        cache_write_1h=sum(told["inputTokens"] for told in usage.get("cacheDetails", ()) if told["ttl"] == "1h"),
    )


if TYPE_CHECKING:
    _: type[ReplyDecoder] = ConverseDecoder
