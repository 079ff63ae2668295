"""Decoder of Chat Completions chunks; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart, Delta, Done, UsageReport
from harness.messages import Citation, StopReason, Usage
from harness.ports.provider import ToolSpec
from providers.endpoint import Endpoint
from providers.net.http_errors import failure, plain, status_inside
from providers.net.stream import ReplyDecoder
from providers.openai_chat.reasoning import ReasoningSignature, thinking_in
from providers.openai_chat.wire_types import CallPart, Chunk, ChunkDelta, ChunkUsage
from providers.wire.blocks import BlockWriter, new_call_id
from providers.wire.citations import (
    Raw,
    annotated,
    as_object,
    citation,
    items,
    joined,
    listed,
    merged,
    objects,
    page,
    placed,
)
from providers.wire.text_tool_calls import TextToolCalls
from providers.wire.usage_reports import UsageReports

STOP_REASONS: Mapping[str, StopReason] = {
    "length": "length",
    "model_length": "length",
    "content_filter": "error",
    "sensitive": "error",
    "error": "error",
}
FAILURES: Mapping[str, tuple[int, str]] = {
    "model_context_window_exceeded": (400, "the maximum context length is exceeded"),
    "insufficient_system_resource": (503, "the service has no capacity for the rest of the reply"),
    "network_error": (502, "the service lost its connection to the model"),
}
"""Finish reasons that are errors: the corresponding status and message."""
LISTS = frozenset(("citations", "search_results", "web_search"))
"""Fields of a chunk: URLs from Perplexity and xAI, and their details from Perplexity and Z.AI."""


class ChatDecoder(ReplyDecoder):
    """Decodes one reply: the first choice, since only one is requested.

    Args:
        endpoint: The service.
        tools: Tools of the request, for calls that a model writes into its text.
        keeps_an_hour: True if a cache lifetime of one hour was requested, which the token counts do not show.
    """

    def __init__(self, endpoint: Endpoint, tools: Sequence[ToolSpec] = (), *, keeps_an_hour: bool = False) -> None:
        self._endpoint = endpoint
        self._text_parser = _text_parser(endpoint, tools)
        self._response_id = ""
        self._usage = Usage()
        self._reports = UsageReports()
        self._keeps_an_hour = keeps_an_hour
        self._finish = ""
        self._refusal = ""
        self._blocks = BlockWriter(self._block_end)
        self._reasoning = ReasoningSignature()
        self._sources = ChatCitations()
        self._calls = CallAssembler(self._blocks.new_index)

    @property
    def is_complete(self) -> bool:
        return bool(self._finish)

    def take(self, event: Chunk) -> Sequence[Delta]:
        """Return the deltas of one chunk.

        Raises:
            ProviderError: The chunk is an error.
        """
        if event.get("error") or event.get("object") == "error" or (event.get("base_resp") or {}).get("status_code"):
            body = json.dumps(event)
            raise failure(self._endpoint, status_inside(body), body, {})
        self._response_id = self._response_id or event.get("id") or ""
        counts = event.get("usage")
        if "citations" in event or "search_results" in event or "web_search" in event:
            self._sources.note_lists(event)
        choices = event.get("choices")
        if not choices:
            return self._count(counts) if counts else ()
        choice = choices[0]
        counts = counts or choice.get("usage")
        self._finish = choice.get("finish_reason") or self._finish
        if self._finish in FAILURES:
            raise failure(self._endpoint, *FAILURES[self._finish], {})
        delta = choice.get("delta")
        deltas = tuple(self._chunk_deltas(delta)) if delta else ()
        return (*self._count(counts), *deltas) if counts else deltas

    def _count(self, counts: ChunkUsage) -> tuple[UsageReport, ...]:
        """Update the usage; it is reported unless the reply has ended, as most services send it last."""
        self._usage = _usage(counts, keeps_an_hour=self._keeps_an_hour)
        is_due = not self._finish and self._reports.is_due(self._usage.output)
        return (self._reports.report(self._usage),) if is_due else ()

    def finish(self) -> Sequence[Delta]:
        closing = [*self._flush_text(), *self._blocks.close(), *self._calls.finish()]
        stop = STOP_REASONS.get(self._finish, "stop")
        if stop == "stop" and (self._calls or self._blocks.has_calls):
            stop = "tool_use"
        error = f"the service stopped the reply: {plain(self._finish)}" if stop == "error" else None
        if self._refusal:
            stop, error = "error", f"the model refused: {plain(self._refusal)}"
        return (*closing, Done(stop, self._usage, self._response_id, error))

    def _chunk_deltas(self, delta: ChunkDelta) -> Iterator[Delta]:
        thought = thinking_in(delta)
        if thought is not None:
            yield from self._thinking_delta(delta, thought)
        if "annotations" in delta or "executed_tools" in delta:
            self._sources.note_mentions(delta)
        content = delta.get("content")
        text = self._text_of(content) if isinstance(content, list) else content
        if text:
            yield from self._parse_text(text)
        if parts := delta.get("tool_calls"):
            yield from self._flush_text()
            yield from self._blocks.close()
            for part in parts:
                yield from self._calls.take(part)
        if function := delta.get("function_call"):
            yield from self._blocks.close()
            yield from self._calls.take({"index": 0, "function": function})
        if refusal := delta.get("refusal"):
            self._refusal += refusal

    def _text_of(self, parts: Sequence[Raw]) -> str:
        self._sources.note_parts(parts)
        return "".join(str(part["text"]) for part in parts if part.get("type") == "text" and "text" in part)

    def _parse_text(self, text: str) -> Iterator[Delta]:
        """Yield the deltas of a piece of text, which may contain thinking and calls."""
        parser = self._text_parser
        return self._blocks.say("text", text) if parser is None else self._blocks.write(parser.feed(text))

    def _flush_text(self) -> Iterator[Delta]:
        """Yield text that was held back because it might have been the start of a call."""
        if self._text_parser is not None:
            yield from self._blocks.write(self._text_parser.finish())

    def _thinking_delta(self, delta: ChunkDelta, thought: str) -> Iterator[Delta]:
        yield from self._blocks.start("thinking")
        self._reasoning.note(delta)
        if thought:
            yield from self._blocks.say("thinking", thought)

    def _block_end(self, index: int, kind: BlockKind) -> BlockEnd:
        if kind == "text":
            return BlockEnd(index, citations=self._sources.take())
        reasoning, self._reasoning = self._reasoning, ReasoningSignature()
        return BlockEnd(index, reasoning.text)


def _text_parser(endpoint: Endpoint, tools: Sequence[ToolSpec]) -> TextToolCalls | None:
    """Return the parser of thinking and calls in text; None where no model writes them there.

    Calls are parsed for local models only: their server may not know the model's format.
    """
    preset = endpoint.preset
    if preset.is_local:
        return TextToolCalls(tools)
    return TextToolCalls() if preset.thinking_in_text or not endpoint.is_vendors_own else None


def _usage(counts: ChunkUsage, *, keeps_an_hour: bool) -> Usage:
    details = counts.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or counts.get("cached_tokens") or counts.get("prompt_cache_hit_tokens") or 0
    stored = details.get("cache_write_tokens") or 0
    prompt = counts.get("prompt_tokens") or 0
    return Usage(
        max(0, prompt - cached - stored),
        counts.get("completion_tokens") or 0,
        cached,
        stored,
        cache_write_1h=stored if keeps_an_hour else 0,
    )


class _Call(Struct):
    """A call in progress. It starts when its name is known; earlier fragments wait."""

    number: int | None
    id: str
    index: int | None = None
    waiting: list[str] = []


class CallAssembler:
    """Assembles tool calls. Fragments share an `index`; without one the id identifies them, otherwise the order.

    Some servers give every call the index 0: a new id together with a name starts a new call anyway.
    """

    def __init__(self, new_index: Callable[[], int]) -> None:
        self._new_index = new_index
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return any(call.index is not None for call in self._calls)

    def take(self, part: CallPart) -> Iterator[Delta]:
        function = part.get("function") or {}
        name = function.get("name") or ""
        call = self._call_of(part, name)
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if arguments:
            call.waiting.append(arguments)
        if call.index is None and name:
            call.index = self._new_index()
            yield BlockStart(call.index, "tool_call", call.id or new_call_id(), name)
        while call.index is not None and call.waiting:
            yield BlockDelta(call.index, call.waiting.pop(0))

    def finish(self) -> Iterator[Delta]:
        """Yield the ends of all calls; one without a name is dropped."""
        for call in self._calls:
            if call.index is not None:
                yield BlockEnd(call.index)

    def _call_of(self, part: CallPart, name: str) -> _Call:
        number, call_id = part.get("index"), part.get("id") or ""
        known = self._known(number, call_id, name)
        if known is None:
            known = _Call(number, call_id)
            self._calls.append(known)
        known.id = known.id or call_id
        return known

    def _known(self, number: int | None, call_id: str, name: str) -> _Call | None:
        latest = reversed(self._calls)
        if number is not None:
            call = next((call for call in latest if call.number == number), None)
            is_another = call is not None and call.index is not None and call_id not in ("", call.id) and bool(name)
            return None if is_another else call
        if call_id:
            return next((call for call in latest if call.id == call_id), None)
        return None if name else next(latest, None)


class ChatCitations:
    """Collects citations as they arrive; reads them when the text is complete."""

    def __init__(self) -> None:
        self._lists: dict[str, object] = {}
        self._found: list[Citation | None] = []

    def note_lists(self, chunk: Chunk) -> None:
        """Replace earlier lists: most services repeat theirs with every chunk."""
        self._lists |= {name: value for name, value in chunk.items() if name in LISTS and value}

    def note_mentions(self, delta: ChunkDelta) -> None:
        """Add OpenAI's annotations, which many services send, and the search results of Groq's systems."""
        self._found += map(annotated, objects(delta.get("annotations")))
        for tool in objects(delta.get("executed_tools")):
            self._found += map(page, objects(as_object(tool.get("search_results")).get("results")))

    def note_parts(self, parts: Sequence[Raw]) -> None:
        """Add the references among the content parts, as Mistral sends them: pages, and names from tool results."""
        for part in parts:
            if part.get("type") == "tool_reference":
                self._found.append(citation(part.get("url"), part.get("title"), part.get("description")))
            elif part.get("type") == "reference":
                self._found += [citation("", f"reference {name}") for name in items(part.get("reference_ids"))]

    def take(self) -> tuple[Citation, ...]:
        """Return the citations of the text so far."""
        if not self._lists and not self._found:
            return ()
        found = merged(self._found)
        results = self._lists.get("search_results") or self._lists.get("web_search")
        pages = placed(map(page, objects(results)))
        places = listed(self._lists.get("citations"), (*found, *pages)) or pages
        self._lists, self._found = {}, []
        return joined(places, found)
