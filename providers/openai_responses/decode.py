"""Decoder of Responses API events; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Required, TypedDict

from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done
from harness.messages import Citation, StopReason, Usage
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain, status_inside
from providers.net.stream import ReplyDecoder
from providers.wire.blocks import new_call_id
from providers.wire.citations import Raw, annotated, as_object, items, joined, listed, merged, objects, page, placed
from providers.wire.hosted_search import as_signature, search_text

KINDS: Mapping[str, BlockKind] = {"reasoning": "thinking", "message": "text", "function_call": "tool_call"}
TEXTS = frozenset(
    (
        "response.output_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
    )
)
STATUS: Mapping[str, int] = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "context_length_exceeded": 400,
}
INCOMPLETE: Mapping[str, StopReason] = {"max_output_tokens": "length", "max_messages": "length"}


class ResponseUsage(TypedDict, total=False):
    input_tokens: int | None
    output_tokens: int | None
    input_tokens_details: dict[str, int | None] | None


class OutputItem(TypedDict, total=False):
    """A reasoning item, a message, a function call or a search of the service."""

    type: Required[str]
    id: str | None
    call_id: str | None
    name: str | None
    arguments: str | None
    content: list[dict[str, Any]] | None
    summary: list[dict[str, Any]] | None
    encrypted_content: str | None
    results: list[dict[str, Any]] | None
    status: str | None
    action: dict[str, Any] | None


class ResponseBody(TypedDict, total=False):
    id: str | None
    usage: ResponseUsage | None
    incomplete_details: dict[str, str | None] | None
    error: dict[str, Any] | None
    citations: list[str] | None


class ResponsesStreamEvent(TypedDict, total=False):
    type: Required[str]
    output_index: Required[int]
    summary_index: int
    content_index: int
    annotation: dict[str, Any] | None
    delta: Required[str]
    item: Required[OutputItem]
    response: Required[ResponseBody]
    message: str | None
    code: str | None
    error: dict[str, Any] | None


class ResponseDecoder(ReplyDecoder):
    """Decodes one reply; unknown kinds of items are skipped.

    The end of a text block is held back, since some services send its citations afterwards.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: dict[int, BlockKind] = {}
        self._written: set[int] = set()
        self._held_end: BlockEnd | None = None
        self._noted: list[Citation | None] = []
        self._results: list[Raw] = []
        self._response: ResponseBody = {}
        self._ending = ""
        self._refusal = ""
        self._calls = False
        self._searches = 0

    @property
    def is_complete(self) -> bool:
        return bool(self._ending)

    def take(self, event: ResponsesStreamEvent) -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error, or reports that the reply failed.
        """
        kind = event["type"]
        if kind in TEXTS:
            return tuple(self._text_delta(event["output_index"], event["delta"]))
        match kind:
            case "response.output_item.added":
                return tuple(self._start_block(event["output_index"], event["item"]))
            case "response.output_item.done":
                return tuple(self._end_item(event["output_index"], event["item"]))
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                return tuple(self._text_delta(event["output_index"], "\n\n"))
            case "response.output_text.annotation.added" | "response.refusal.delta":
                self._note(event)
            case "response.completed" | "response.incomplete":
                self._response, self._ending, self.is_over = event["response"], kind, True
            case "response.failed" | "error":
                self._fail(event)
            case _:
                pass
        return ()

    def finish(self) -> Sequence[Delta]:
        closing = [*self._release_end(), *(BlockEnd(index) for index in self._open)]
        stop: StopReason = "tool_use" if self._calls else "stop"
        error = None
        if self._ending == "response.incomplete":
            reason = (self._response.get("incomplete_details") or {}).get("reason") or ""
            stop = INCOMPLETE.get(reason, "error")
            error = f"the service stopped the reply: {plain(reason or 'no reason given')}" if stop == "error" else None
        if self._refusal:
            stop, error = "error", f"the model refused: {plain(self._refusal)}"
        usage = replace(_usage(self._response.get("usage") or {}), searches=self._searches)
        return (*closing, Done(stop, usage, self._response.get("id") or "", error))

    def _start_block(self, index: int, item: OutputItem) -> Iterator[Delta]:
        kind = KINDS.get(item["type"])
        if kind is None or index in self._open:
            return
        yield from self._release_end()
        self._open[index] = kind
        if kind == "tool_call":
            self._calls = True
            call_id = item.get("call_id") or item.get("id") or new_call_id()
            yield BlockStart(index, kind, call_id, item.get("name") or "")
        else:
            yield BlockStart(index, kind)

    def _text_delta(self, index: int, text: str) -> Iterator[Delta]:
        if index in self._open and text:
            self._written.add(index)
            yield BlockDelta(index, text)

    def _end_item(self, index: int, item: OutputItem) -> Iterator[Delta]:
        """Yield the end of an item; some servers send a complete item without deltas."""
        if item["type"] == "web_search_call":
            yield from self._search(index, item)
            return
        yield from self._start_block(index, item)
        kind = self._open.get(index)
        if kind is None:
            self._results.extend(objects(item.get("results")) if item["type"] == "search_results" else ())
            return
        if index not in self._written:
            yield from self._text_delta(index, _whole(item))
        del self._open[index]
        self._written.discard(index)
        if kind == "text":
            self._held_end = BlockEnd(index, citations=self._citations(item))
        else:
            yield BlockEnd(index, _signature(item) if kind == "thinking" else None)

    def _search(self, index: int, item: OutputItem) -> Iterator[Delta]:
        """Yield a search of the service, which goes back to it with the reasoning around it."""
        yield from self._release_end()
        action = as_object(item.get("action"))
        # Opening a page that was found is free.
        self._searches += action.get("type", "search") == "search"
        kept = {name: item.get(name) for name in ("type", "id", "status", "action") if item.get(name) is not None}
        queries = ", ".join(map(str, items(action.get("queries"))))
        query = str(action.get("query") or queries or action.get("url") or "")
        yield BlockStart(index, "thinking")
        yield BlockDelta(index, search_text(query))
        # The service accepts only complete items, and reasoning only with the search after it.
        yield BlockEnd(index, as_signature(kept) if kept.keys() >= {"id", "status", "action"} else None)

    def _release_end(self) -> Iterator[Delta]:
        if self._held_end is not None:
            # xAI lists the visited pages at the end of the response.
            yield replace(self._held_end, citations=self._held_end.citations or listed(self._response.get("citations")))
        self._held_end = None

    def _note(self, event: ResponsesStreamEvent) -> None:
        if event["type"] == "response.refusal.delta":
            self._refusal += event["delta"]
            return
        found = annotated(as_object(event.get("annotation")))
        # Positions count from the start of a part; only the first part starts with the block.
        self._noted.append(replace(found, start=None, end=None) if found and event.get("content_index") else found)

    def _citations(self, item: OutputItem) -> tuple[Citation, ...]:
        """Return the citations of a message: its own annotations, otherwise those received before."""
        found, length = list[Citation | None](), 0
        for part in objects(item.get("content")):
            found += [annotated(each, length) for each in objects(part.get("annotations"))]
            length += len(str(part.get("text") or ""))
        found, self._noted = found or self._noted, []
        results, self._results = placed(map(page, self._results)), []
        return joined(results, merged(found))

    def _fail(self, event: ResponsesStreamEvent) -> None:
        error = (event.get("response") or {}).get("error") or event.get("error") or {**event}
        body = json.dumps({"error": error})
        code = str(error.get("code") or "")
        status = STATUS.get(code) or (400 if code.startswith("invalid") else status_inside(body))
        raise failure(self._endpoint, status, body, {})


def _whole(item: OutputItem) -> str:
    parts = item.get("summary") or item.get("content") or ()
    return item.get("arguments") or "".join(str(part.get("text") or "") for part in parts)


def _signature(item: OutputItem) -> str | None:
    """Return the reasoning item that goes back to the model; None if the service sent no encrypted content."""
    encrypted = item.get("encrypted_content")
    if not encrypted:
        return None
    kept: dict[str, object] = {
        "type": "reasoning",
        "id": item.get("id") or "",
        "summary": item.get("summary") or [],
        "encrypted_content": encrypted,
    }
    return json.dumps(kept, ensure_ascii=False)


def _usage(counts: ResponseUsage) -> Usage:
    details = counts.get("input_tokens_details") or {}
    cached, stored = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    read = counts.get("input_tokens") or 0
    return Usage(max(0, read - cached - stored), counts.get("output_tokens") or 0, cached, stored)
