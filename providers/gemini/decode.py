"""Decoder of the Gemini API's stream; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypedDict

from msgspec.structs import replace

from harness.deltas import BlockDelta, BlockEnd, BlockKind, Delta, Done
from harness.errors import InvalidReply
from harness.messages import HOSTED_SEARCH, Citation, StopReason, Usage
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain
from providers.net.stream import ReplyDecoder
from providers.wire.blocks import BlockWriter
from providers.wire.citations import Raw, as_object, citation, items, joined, merged, objects
from providers.wire.hosted_search import as_signature, search_text
from providers.wire.usage_reports import UsageReports

FIELDS = frozenset(("candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion", "createTime"))
LENGTH = frozenset(("MAX_TOKENS", "CONTINUATION"))
REASONS: Mapping[str, str] = {
    "SAFETY": "the reply may be unsafe",
    "IMAGE_SAFETY": "the image may be unsafe",
    "RECITATION": "it repeated training data, which may be copyrighted",
    "LANGUAGE": "the language is not supported",
    "BLOCKLIST": "it contained a blocked term",
    "PROHIBITED_CONTENT": "the content is prohibited",
    "SPII": "it contained personal data",
    "MODEL_ARMOR": "Model Armor blocked it",
    "JAILBREAK": "it was classified as a jailbreak",
    "TOO_MANY_TOOL_CALLS": "the model called too many tools",
    "MISSING_THOUGHT_SIGNATURE": "a thought was sent without its signature",
    "OTHER": "no reason given",
}
RETRYABLE: Mapping[str, str] = {
    "MALFORMED_FUNCTION_CALL": "the model produced an invalid tool call",
    "MALFORMED_RESPONSE": "the model produced an invalid reply",
    "UNEXPECTED_TOOL_CALL": "the model called an unavailable tool",
}
"""Finish reasons after which the request is retried."""
STATUS_OF_ERROR: Mapping[str, int] = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
SEARCH_ITEMS = ("toolCall", "toolResponse")
KINDS = ("web", "retrievedContext", "maps", "image")


class FunctionCall(TypedDict, total=False):
    id: str | None
    name: str | None
    args: dict[str, Any] | None


class Part(TypedDict, total=False):
    """One kind of content; other kinds come from the service's own tools."""

    text: str | None
    thought: bool | None
    thoughtSignature: str | None
    functionCall: FunctionCall | None
    toolCall: dict[str, Any] | None
    toolResponse: dict[str, Any] | None


class Candidate(TypedDict, total=False):
    content: dict[str, list[Part] | None] | None
    finishReason: str | None
    finishMessage: str | None
    groundingMetadata: dict[str, Any] | None
    citationMetadata: dict[str, Any] | None


class GoogleError(TypedDict, total=False):
    code: int | None
    message: str | None
    status: str | None


class GeminiStreamEvent(TypedDict, total=False):
    candidates: list[Candidate] | None
    promptFeedback: dict[str, str | None] | None
    usageMetadata: dict[str, int | None] | None
    responseId: str | None
    error: GoogleError | str


class ContentDecoder(ReplyDecoder):
    """Decodes one reply. Text and thinking arrive in pieces, calls complete; a signature ends the block it came with.

    A text block ends when the next block starts, since its citations may follow it. Unknown kinds of parts are skipped.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._blocks = BlockWriter(self._block_end)
        self._signature: str | None = None
        self._text: list[str] = []
        self._sources = GeminiCitations()
        self._finish = ""
        self._message = ""
        self._blocked: dict[str, str | None] = {}
        self._usage: dict[str, int | None] = {}
        self._reports = UsageReports()
        self._response_id = ""
        self._searches = 0
        self._grounded = 0

    @property
    def is_complete(self) -> bool:
        return bool(self._finish or self._blocked)

    def take(self, event: GeminiStreamEvent | list[GeminiStreamEvent]) -> Sequence[Delta]:
        """Return the deltas of one event.

        Raises:
            ProviderError: The event is an error.
        """
        if isinstance(event, list):
            event = event[0] if event else {}
        if "error" in event:
            self._fail(event["error"])
        if not FIELDS & event.keys():
            raise KeyError("none of the fields of a response")
        deltas = tuple(self._read(event))
        self._response_id = event.get("responseId") or self._response_id
        feedback = event.get("promptFeedback") or {}
        if feedback.get("blockReason"):
            self._blocked = feedback
        # Some services send the token counts in a separate event after the last one.
        if counts := event.get("usageMetadata"):
            # Not every event has all of them.
            self._usage.update(counts)
            self.is_over = self.is_complete
            if not self.is_over and self._reports.is_due(_written(counts)):
                return (self._reports.report(_counted(self._usage)), *deltas)
        return deltas

    def finish(self) -> Sequence[Delta]:
        """Return the deltas that close the reply, `Done` last.

        Raises:
            InvalidReply: The reply is malformed.
        """
        if self._finish in RETRYABLE:
            why = plain(self._endpoint.hide_key(self._message)) or RETRYABLE[self._finish]
            raise InvalidReply(f"{self._endpoint.preset.label}: {why} ({self._finish})")
        stop, error = self._ending()
        usage = replace(_counted(self._usage), searches=max(self._searches, self._grounded))
        return (*self._blocks.close(), Done(stop, usage, self._response_id, error))

    def _read(self, event: GeminiStreamEvent) -> Iterator[Delta]:
        for candidate in (event.get("candidates") or [])[:1]:
            if "groundingMetadata" in candidate or "citationMetadata" in candidate:
                self._sources.note(candidate)
                queries = items(as_object(candidate.get("groundingMetadata")).get("webSearchQueries"))
                self._grounded = max(self._grounded, len(queries))
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            reason = candidate.get("finishReason") or ""
            if reason and reason != "FINISH_REASON_UNSPECIFIED":
                self._finish, self._message = reason, candidate.get("finishMessage") or ""

    def _part(self, part: Part) -> Iterator[Delta]:
        signature = part.get("thoughtSignature") or None
        if call := part.get("functionCall"):
            arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
            yield from self._blocks.call(call.get("name") or "", arguments, call.get("id") or "", signature)
        elif kind := next((kind for kind in SEARCH_ITEMS if part.get(kind)), ""):
            yield from self._search(kind, part)
        elif part.get("text") or signature:
            yield from self._speech("thinking" if part.get("thought") else "text", part.get("text") or "", signature)

    def _search(self, kind: str, part: Part) -> Iterator[Delta]:
        """Yield a search of the service or its response, which go back to it."""
        yield from self._blocks.close()
        arguments = as_object(as_object(part.get("toolCall")).get("args"))
        queries = arguments.get("queries")
        query = ", ".join(map(str, items(queries))) or arguments.get("query")
        self._searches += len(items(queries)) if kind == "toolCall" else 0
        yield from self._blocks.start("thinking")
        yield BlockDelta(self._blocks.index, search_text(query) if kind == "toolCall" else f"{HOSTED_SEARCH} finished")
        self._signature = as_signature({"type": kind, "part": part})
        yield from self._blocks.close()

    def _speech(self, kind: BlockKind, text: str, signature: str | None) -> Iterator[Delta]:
        if self._signature:
            yield from self._blocks.close()
        yield from self._blocks.start(kind)
        if text:
            self._text.append(text)
            yield BlockDelta(self._blocks.index, text)
        self._signature = signature
        if signature and kind == "thinking":
            yield from self._blocks.close()

    def _block_end(self, index: int, kind: BlockKind) -> BlockEnd:
        signature, text = self._signature, "".join(self._text)
        self._signature, self._text = None, []
        return BlockEnd(index, signature, citations=self._sources.take(text) if kind == "text" else ())

    def _ending(self) -> tuple[StopReason, str | None]:
        if not self._finish:
            reason = self._blocked.get("blockReason") or ""
            return "error", _explained("refused the prompt", reason, self._blocked.get("blockReasonMessage") or "")
        if self._finish in LENGTH:
            return "length", None
        if self._finish == "STOP":
            return "tool_use" if self._blocks.has_calls else "stop", None
        return "error", _explained("stopped the reply", self._finish, self._message)

    def _fail(self, error: GoogleError | str) -> NoReturn:
        body: GoogleError = {} if isinstance(error, str) else error
        status = body.get("code") or STATUS_OF_ERROR.get(body.get("status") or "", 500)
        raise failure(self._endpoint, status, json.dumps({"error": error}), {})


def _explained(what: str, reason: str, message: str) -> str:
    why = plain(message) or REASONS.get(reason, "")
    return f"the service {what}: {why} ({plain(reason)})" if why else f"the service {what}: {plain(reason)}"


def _counted(usage: dict[str, int | None]) -> Usage:
    cached = usage.get("cachedContentTokenCount") or 0
    read = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
    return Usage(max(0, read - cached), _written(usage), cached)


def _written(usage: dict[str, int | None]) -> int:
    return (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)


class GeminiCitations:
    """Collects grounding metadata as it arrives; reads it when the text is complete."""

    def __init__(self) -> None:
        self._grounding: Raw = {}
        self._quoted: list[Raw] = []

    def note(self, candidate: Candidate) -> None:
        """Add a candidate's metadata: grounding replaces earlier grounding, citations may come one by one."""
        grounding = as_object(candidate.get("groundingMetadata"))
        if grounding.get("groundingChunks"):
            self._grounding = grounding
        quoted = as_object(candidate.get("citationMetadata"))
        self._quoted += objects(quoted.get("citationSources") or quoted.get("citations"))

    def take(self, text: str) -> tuple[Citation, ...]:
        """Return the citations of the text."""
        if not self._grounding and not self._quoted:
            return ()
        pages = [_page(chunk) for chunk in objects(self._grounding.get("groundingChunks"))]
        found = merged((*self._quotations(text), *self._supports(text, pages)))
        self._grounding, self._quoted = {}, []
        return joined(found, merged(pages))

    def _quotations(self, text: str) -> Iterator[Citation | None]:
        for raw in self._quoted:
            yield citation(raw.get("uri"), raw.get("title") or raw.get("license"), "", *_span(text, raw))

    def _supports(self, text: str, pages: list[Citation | None]) -> Iterator[Citation | None]:
        for support in objects(self._grounding.get("groundingSupports")):
            span = _span(text, as_object(support.get("segment")))
            for index in items(support.get("groundingChunkIndices")):
                if isinstance(index, int) and 0 <= index < len(pages) and (page := pages[index]):
                    yield citation(page.url, page.title, page.quote, *span)


def _span(text: str, segment: Raw) -> tuple[int | None, int | None]:
    """Return the character range of a segment; None if it is not in the text."""
    data, words = text.encode(errors="replace"), segment.get("text")
    start, end = segment.get("startIndex") or 0, segment.get("endIndex")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(data):
        first = len(data[:start].decode(errors="ignore"))
        piece = data[start:end].decode(errors="ignore")
        if words in (None, piece):
            return first, first + len(piece)
    at = text.find(words) if isinstance(words, str) and words else -1
    return (at, at + len(words)) if at >= 0 and isinstance(words, str) else (None, None)


def _page(chunk: Raw) -> Citation | None:
    source = next((found for kind in KINDS if (found := as_object(chunk.get(kind)))), as_object(None))
    url = source.get("uri") or source.get("sourceUri")
    title = source.get("title") or source.get("domain") or source.get("documentName") or source.get("fileSearchStore")
    return citation(url, title, source.get("text"))
