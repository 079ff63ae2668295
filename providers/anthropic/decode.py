"""Decoder of Messages API events; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypeAlias, TypedDict

from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done, UsageReport
from harness.messages import Citation, StopReason, Usage
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain
from providers.net.stream import ReplyDecoder
from providers.wire.citations import MAX_CITATIONS, Raw, as_object, citation, merged, objects
from providers.wire.encoding import parsed_json
from providers.wire.hosted_search import SEARCH, as_signature, results_text, search_text

UsageCounts: TypeAlias = "dict[str, int | dict[str, int | None] | str | None]"
STOP_REASONS: Mapping[str, StopReason] = {
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
}
BLOCKS: Mapping[str, BlockKind] = {
    "text": "text",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "tool_use": "tool_call",
    "server_tool_use": "thinking",
    "web_search_tool_result": "thinking",
}
CITATION = "web_search_result_location"
"""Type of a citation of a search, which the service requires back with its text."""
HOUR_CACHE_TOKENS = "ephemeral_1h_input_tokens"
SEARCHES = "web_search_requests"
STATUS_OF_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class ContentBlock(TypedDict):
    type: str
    text: NotRequired[str]
    thinking: NotRequired[str]
    signature: NotRequired[str]
    citations: NotRequired[list[dict[str, Any]] | None]
    data: str
    id: str
    name: str
    input: NotRequired[dict[str, object]]
    tool_use_id: NotRequired[str]
    content: NotRequired[list[dict[str, Any]] | dict[str, Any]]


class EventDelta(TypedDict):
    type: str
    text: str
    partial_json: str
    thinking: str
    signature: str
    citation: NotRequired[dict[str, Any] | None]
    stop_reason: NotRequired[str | None]
    stop_details: NotRequired[dict[str, str | None] | None]


class MessageHead(TypedDict):
    id: NotRequired[str]
    usage: NotRequired[UsageCounts]


class AnthropicStreamEvent(TypedDict):
    """Fields depend on `type`."""

    type: str
    index: int
    message: MessageHead
    content_block: ContentBlock
    delta: EventDelta
    usage: NotRequired[UsageCounts]
    error: dict[str, str]


class MessageDecoder(ReplyDecoder):
    """Decodes one reply. Unknown events and blocks of kinds that were not requested are skipped."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._response_id = ""
        self._counts: dict[str, int] = {}
        self._stop = ""
        self._refusal = ""
        self._open: dict[int, BlockEnd] = {}
        self._cited: dict[int, list[Raw]] = {}
        self._searches: dict[int, tuple[ContentBlock, str]] = {}
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def take(self, event: AnthropicStreamEvent) -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error.
        """
        match event["type"]:
            case "content_block_delta":
                return self._block_delta(event)
            case "content_block_start":
                return self._block_start(event["index"], event["content_block"])
            case "content_block_stop":
                return self._block_end(event["index"])
            case "message_start":
                self._response_id = event["message"].get("id", "")
                self._count(event["message"].get("usage"))
                return (UsageReport(self._usage()),) if self._counts else ()
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._refusal = (event["delta"].get("stop_details") or {}).get("explanation") or ""
                self._count(event.get("usage"))
            case "message_stop":
                self._is_complete = self.is_over = True
            case "error":
                status = STATUS_OF_ERROR.get(event["error"].get("type", ""), 500)
                raise failure(self._endpoint, status, json.dumps({"error": event["error"]}), {})
            case _:
                pass
        return ()

    def finish(self) -> Sequence[Delta]:
        stop = STOP_REASONS.get(self._stop, "stop")
        error = f"the model refused: {plain(self._refusal) or 'no reason given'}" if stop == "error" else None
        ends = [self._with_citations(end) for end in self._open.values()]
        # Without its input, a search cannot be sent back.
        ends += map(BlockEnd, self._searches)
        return (*ends, Done(stop, self._usage(), self._response_id, error))

    def _block_start(self, index: int, block: ContentBlock) -> Sequence[Delta]:
        kind = BLOCKS.get(block["type"])
        if kind is None or (block["type"] == "server_tool_use" and block["name"] != SEARCH):
            return ()
        if block["type"] == "server_tool_use":
            self._searches[index] = (block, "")
            return (BlockStart(index, kind),)
        if block["type"] == "web_search_tool_result":
            item = {name: block.get(name) for name in ("type", "tool_use_id", "content")}
            text = results_text(block.get("content"))
            return (BlockStart(index, kind), BlockDelta(index, text), BlockEnd(index, as_signature(item)))
        is_call = kind == "tool_call"
        start = BlockStart(index, kind, block["id"], block["name"]) if is_call else BlockStart(index, kind)
        if cited := block.get("citations"):
            self._cited[index] = objects(cited)
        redacted = block["data"] if block["type"] == "redacted_thinking" else None
        self._open[index] = BlockEnd(index, block.get("signature") or None, redacted)
        whole = block.get("input")
        # Compatible servers may send complete arguments here; Anthropic sends an empty object.
        text = block.get("text") or block.get("thinking") or (json.dumps(whole) if whole else "")
        return (start, BlockDelta(index, text)) if text else (start,)

    def _block_delta(self, event: AnthropicStreamEvent) -> Sequence[Delta]:
        index, delta = event["index"], event["delta"]
        if index in self._searches and delta["type"] == "input_json_delta":
            block, given = self._searches[index]
            self._searches[index] = (block, given + delta["partial_json"])
        if index not in self._open:
            return ()
        match delta["type"]:
            case "text_delta":
                return (BlockDelta(index, delta["text"]),)
            case "input_json_delta":
                return (BlockDelta(index, delta["partial_json"]),) if delta["partial_json"] else ()
            case "thinking_delta":
                return (BlockDelta(index, delta["thinking"]),)
            case "signature_delta":
                signature = self._open[index].signature or ""
                self._open[index] = BlockEnd(index, signature + delta["signature"])
            case "citations_delta":
                self._cited.setdefault(index, []).append(as_object(delta.get("citation")))
            case _:
                pass
        return ()

    def _block_end(self, index: int) -> Sequence[Delta]:
        if (search := self._searches.pop(index, None)) is not None:
            return _searched(index, *search)
        end = self._open.pop(index, None)
        return (self._with_citations(end),) if end else ()

    def _with_citations(self, end: BlockEnd) -> BlockEnd:
        cited = self._cited.pop(end.index, [])
        found = merged(map(_source, cited))
        if kept := [_sent_back(raw) for raw in cited if raw.get("encrypted_index")][:MAX_CITATIONS]:
            return replace(end, citations=found, signature=as_signature({"type": CITATION, "citations": kept}))
        return replace(end, citations=found)

    def _count(self, counts: UsageCounts | None) -> None:
        """Update the token counts. Later counts are totals and replace earlier ones; not every event has all of
        them."""
        updates = counts or {}
        self._counts.update({name: value for name, value in updates.items() if isinstance(value, int)})
        tokens = as_object(updates.get("cache_creation")).get(HOUR_CACHE_TOKENS)
        if isinstance(tokens, int):
            self._counts[HOUR_CACHE_TOKENS] = tokens
        searches = as_object(updates.get("server_tool_use")).get(SEARCHES)
        if isinstance(searches, int):
            self._counts[SEARCHES] = searches

    def _usage(self) -> Usage:
        counts = self._counts
        return Usage(
            counts.get("input_tokens", 0),
            counts.get("output_tokens", 0),
            counts.get("cache_read_input_tokens", 0),
            counts.get("cache_creation_input_tokens", 0),
            cache_write_1h=counts.get(HOUR_CACHE_TOKENS, 0),
            searches=counts.get(SEARCHES, 0),
        )


def _searched(index: int, block: ContentBlock, given: str) -> Sequence[Delta]:
    """Return the end of a search of the service, whose query arrived in pieces or with its start."""
    arguments = as_object(parsed_json(given)) if given else block.get("input") or {}
    item = {"type": block["type"], "id": block["id"], "name": block["name"], "input": arguments}
    return BlockDelta(index, search_text(arguments.get("query"))), BlockEnd(index, as_signature(item))


def _sent_back(raw: Raw) -> Raw:
    """Return the fields of a citation of a search that the service accepts in a request."""
    return {name: raw.get(name) for name in ("type", "url", "title", "cited_text", "encrypted_index")}


def _source(raw: Raw) -> Citation | None:
    """Return the citation of a web page, a search result or a place in a document."""
    title = raw.get("title") or raw.get("document_title") or raw.get("file_id")
    return citation(raw.get("url") or raw.get("source"), title, raw.get("cited_text"))
