"""Decoder of Converse API events; pure."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done
from harness.messages import Citation, StopReason, Usage
from providers.endpoint import Endpoint
from providers.net.http_errors import failure
from providers.net.stream import ReplyDecoder
from providers.wire.blocks import new_call_id
from providers.wire.citations import Raw, as_object, citation, merged, objects

STOP_REASONS: Mapping[str, StopReason] = {
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
KINDS: Mapping[str, BlockKind] = {"text": "text", "reasoningContent": "thinking", "toolUse": "tool_call"}
BAD_ENDS = {
    "guardrail_intervened": "a guardrail of the account blocked the reply",
    "content_filtered": "the service's content filter blocked the reply",
    "malformed_model_output": "the model produced output that the service could not parse",
    "malformed_tool_use": "the model produced a tool call that the service could not parse",
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
"""All others are server errors, which may be retried."""


class BlockStartEvent(TypedDict):
    start: dict[str, dict[str, str]]
    contentBlockIndex: int


class BlockPiece(TypedDict):
    text: NotRequired[str]
    citation: NotRequired[dict[str, Any]]
    toolUse: NotRequired[dict[str, str]]
    reasoningContent: NotRequired[dict[str, str]]


class BlockDeltaEvent(TypedDict):
    delta: BlockPiece
    contentBlockIndex: int


class CacheDetail(TypedDict):
    """Tokens written with one lifetime."""

    ttl: str
    inputTokens: int


class TokenUsage(TypedDict):
    inputTokens: NotRequired[int]
    outputTokens: NotRequired[int]
    cacheReadInputTokens: NotRequired[int]
    cacheWriteInputTokens: NotRequired[int]
    cacheDetails: NotRequired[list[CacheDetail]]


class BedrockStreamEvent(TypedDict, total=False):
    """Exactly one of these; error events have other names."""

    contentBlockStart: BlockStartEvent
    contentBlockDelta: BlockDeltaEvent
    contentBlockStop: dict[str, int]
    messageStop: dict[str, str]
    metadata: dict[str, TokenUsage]


class OpenBlock(Struct):
    index: int
    kind: BlockKind
    signature: str = ""
    redacted: bytes = b""

    @property
    def end(self) -> BlockEnd:
        return BlockEnd(self.index, self.signature or None, b64encode(self.redacted).decode() or None)


class ConverseDecoder(ReplyDecoder):
    """Decodes one reply. Only tool-call blocks have a start event; other blocks start with their first delta.

    Token counts arrive after the last event of the reply; the reply is complete without them.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: dict[int, OpenBlock] = {}
        self._cited: dict[int, list[Raw]] = {}
        self._begun = 0
        self._stop = ""
        self._usage = Usage()

    @property
    def is_complete(self) -> bool:
        return bool(self._stop)

    def take(self, event: BedrockStreamEvent) -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error.
        """
        match event:
            case {"contentBlockDelta": piece}:
                return tuple(self._block_delta(piece))
            case {"contentBlockStart": {"start": {"toolUse": call}, "contentBlockIndex": place}}:
                return tuple(
                    self._start_block(place, "tool_call", call.get("toolUseId") or new_call_id(), call["name"])
                )
            case {"contentBlockStop": stop}:
                return tuple(self._close(stop["contentBlockIndex"]))
            case {"messageStop": last}:
                self._stop = last["stopReason"]
            case {"metadata": metadata}:
                self._usage = _counted(metadata.get("usage") or {})
                self.is_over = self.is_complete
            case _:
                self._check_for_error(event)
        return ()

    def finish(self) -> Sequence[Delta]:
        ends = [delta for place in [*self._open] for delta in self._close(place)]
        error = BAD_ENDS.get(self._stop)
        stop = "error" if error else STOP_REASONS.get(self._stop, "stop")
        return (*ends, Done(stop, self._usage, "", error))

    def _start_block(self, place: int, kind: BlockKind, call_id: str = "", name: str = "") -> Iterator[Delta]:
        yield from self._close(place)
        self._open[place] = OpenBlock(self._begun, kind)
        self._begun += 1
        yield BlockStart(self._open[place].index, kind, call_id, name)

    def _close(self, place: int) -> Iterator[Delta]:
        if block := self._open.pop(place, None):
            cited = self._cited.pop(place, None) if block.kind == "text" else None
            yield replace(block.end, citations=merged(map(_source, cited))) if cited else block.end

    def _block_delta(self, event: BlockDeltaEvent) -> Iterator[Delta]:
        place, piece = event["contentBlockIndex"], event["delta"]
        if source := piece.get("citation"):
            self._cited.setdefault(place, []).append(as_object(source))
        kind: BlockKind | None = next((kind for field, kind in KINDS.items() if field in piece), None)
        block = self._open.get(place)
        if kind is None or (kind == "tool_call" and block is None):
            return
        if block is None or block.kind != kind:
            yield from self._start_block(place, kind)
        yield from _deltas(self._open[place], piece)

    def _check_for_error(self, event: BedrockStreamEvent) -> None:
        for name, value in event.items():
            error = as_object(value)
            if error and (name.endswith("Exception") or name == "error"):
                message = error.get("message") or error.get("originalMessage") or name
                body = json.dumps({"message": message})
                raise failure(self._endpoint, STATUS_OF_EXCEPTION.get(name, 500), body, {})


def _deltas(block: OpenBlock, piece: BlockPiece) -> Iterator[Delta]:
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
    """Return the citation of a web page or of a document in the request."""
    web = as_object(as_object(raw.get("location")).get("web"))
    quote = "".join(str(piece.get("text") or "") for piece in objects(raw.get("sourceContent")))
    return citation(web.get("url") or raw.get("source"), raw.get("title") or web.get("domain"), quote)


def _counted(usage: TokenUsage) -> Usage:
    """Return the usage; the service counts cached tokens separately, as we do."""
    return Usage(
        usage.get("inputTokens", 0),
        usage.get("outputTokens", 0),
        usage.get("cacheReadInputTokens", 0),
        usage.get("cacheWriteInputTokens", 0),
        cache_write_1h=sum(detail["inputTokens"] for detail in usage.get("cacheDetails", ()) if detail["ttl"] == "1h"),
    )
