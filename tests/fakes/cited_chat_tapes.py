"""Replies with sources from the services that speak one of OpenAI's protocols, in their original form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakes.bedrock_wire import event
from fakes.histories import AUTHORS, Author

from harness.messages import Citation
from providers.endpoint import Endpoint
from providers.net.framing import EventDecoder, Framing
from providers.net.stream import ReplyDecoder
from providers.openai_chat.decode import ChatDecoder
from providers.openai_responses.decode import ResponseDecoder
from providers.preset import presets

TEXT = "Grüße 🌍: der Himmel[1] ist blau[2]."
SKY = "https://en.wikipedia.org/wiki/Sky"
NASA = "https://spaceplace.nasa.gov/blue-sky/en/"
SPAN = (TEXT.index("der"), TEXT.index("[1]"))


@dataclass(frozen=True, slots=True)
class Tape:
    """Recorded output of the service `name` and its expected result; the text is always `TEXT`."""

    name: str
    events: Sequence[Mapping[str, Any]]
    citations: tuple[Citation, ...]
    decoder: Callable[[Endpoint], ReplyDecoder]
    framing: type[Framing] = EventDecoder

    @property
    def body(self) -> bytes:
        if self.name == "bedrock":
            return b"".join(event(kind, reported) for each in self.events for kind, reported in each.items())
        return b"".join(f"data: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in self.events)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(presets()[self.name], "http://127.0.0.1")


def tape(name: str, events: Sequence[Mapping[str, Any]], *citations: Citation) -> Tape:
    author: Author | None = AUTHORS.get(name)
    if author is None:
        return Tape(name, events, citations, ChatDecoder)
    return Tape(name, events, citations, author.decoder, author.framing)


def chunk(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "m"}
    return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def chat(*deltas: Mapping[str, Any], each: Mapping[str, Any] | None = None, **last: Any) -> list[Any]:
    """Return chunks of the text, then `deltas`, then the end; `each` and `last` are merged into the chunks."""
    half = len(TEXT) // 2
    said = [{"role": "assistant", "content": TEXT[:half]}, {"content": TEXT[half:]}, *deltas]
    return [*(chunk(delta, **(each or {})) for delta in said), chunk({}, "stop", **(each or {}), **last)]


def url_citation(url: str, title: str, start: int, end: int) -> dict[str, Any]:
    return {"url": url, "title": title, "start_index": start, "end_index": end}


def wrapped(url: str, title: str, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": url_citation(url, title, start, end)}


OPENAI_CHAT = tape(
    "openai-chat",
    chat({"annotations": [wrapped(SKY, "Sky", *SPAN), wrapped(NASA, "Blue", 0, 5)]}),
    Citation(SKY, "Sky", "", *SPAN),
    Citation(NASA, "Blue", "", 0, 5),
)

OPENROUTER = tape(
    "openrouter",
    chat(
        {"content": "", "annotations": [wrapped(SKY, "Sky", 0, 0)]},
        {"content": "", "annotations": [wrapped(SKY, "Sky", 0, 0), wrapped(NASA, "Blue", 0, 0)]},
    ),
    Citation(SKY, "Sky", "", 0, 0),
    Citation(NASA, "Blue", "", 0, 0),
)

_RESULTS = [
    {"title": "Why is the sky blue?", "url": NASA, "date": "2025-01-02", "snippet": "Air scatters"},
    {"title": "Sky - Wikipedia", "url": SKY, "date": None},
]

PERPLEXITY = tape(
    "perplexity",
    chat(each={"citations": [SKY, NASA, SKY]}, search_results=_RESULTS),
    Citation(SKY, "Sky - Wikipedia"),
    Citation(NASA, "Why is the sky blue?", "Air scatters"),
    Citation(SKY, "Sky - Wikipedia"),
)

XAI = tape("xai", chat(citations=[SKY, NASA]), Citation(SKY), Citation(NASA))

ZAI = tape(
    "zai",
    [
        chunk({"role": "assistant", "content": TEXT}, web_search=[{"title": "Sky", "link": SKY, "refer": "ref_1"}]),
        chunk({}, "stop"),
    ],
    Citation(SKY, "Sky"),
)

GROQ = tape(
    "groq",
    chat(
        {
            "executed_tools": [
                {
                    "index": 0,
                    "type": "search",
                    "arguments": "{}",
                    "search_results": {"results": [{"title": "Sky", "url": SKY, "content": "It is", "score": 0.9}]},
                }
            ]
        },
        {
            "annotations": [
                {
                    "type": "document_citation",
                    "document_citation": {"document_id": "doc-1", "start_index": 0, "end_index": 5},
                }
            ]
        },
    ),
    Citation(SKY, "Sky", "It is"),
    Citation("", "doc-1", "", 0, 5),
)

MISTRAL = tape(
    "mistral",
    [
        chunk({"role": "assistant", "content": TEXT[:20]}),
        chunk({"content": [{"type": "text", "text": TEXT[20:]}, {"type": "reference", "reference_ids": [0, "b"]}]}),
        chunk(
            {"content": [{"type": "tool_reference", "tool": "web_search", "title": "Sky", "url": SKY, "favicon": None}]}
        ),
        chunk({}, "stop"),
    ],
    Citation("", "reference 0"),
    Citation("", "reference b"),
    Citation(SKY, "Sky"),
)

_HEAD = {"item_id": "m1", "output_index": 0, "content_index": 0}
_ANNOTATIONS = [
    {"type": "url_citation", **url_citation(SKY, "Sky", *SPAN)},
    {"type": "file_citation", "file_id": "file-1", "filename": "a.md", "index": 12},
    {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "cfile_1",
        "filename": "plot.png",
        "start_index": 0,
        "end_index": 5,
    },
    {"type": "file_path", "file_id": "file-2", "index": 0},
]
_SOURCES = (
    Citation(SKY, "Sky", "", *SPAN),
    Citation("", "a.md"),
    Citation("", "plot.png", "", 0, 5),
    Citation("", "file-2"),
)


def answered(annotations: Sequence[Any], *, noted: bool = True, **ending: Any) -> list[Any]:
    """Return a message of the Responses API; `noted` includes annotations and not only an event for each."""
    part = {"type": "output_text", "text": TEXT, "annotations": list(annotations) if noted else []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    half = len(TEXT) // 2
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *(
            {"type": "response.output_text.delta", **_HEAD, "delta": piece, "logprobs": []}
            for piece in (TEXT[:half], TEXT[half:])
        ),
        *(
            {"type": "response.output_text.annotation.added", **_HEAD, "annotation_index": index, "annotation": each}
            for index, each in enumerate(annotations)
        ),
        {"type": "response.content_part.done", **_HEAD, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", **ending}},
    ]
    return [{**each, "sequence_number": number} for number, each in enumerate(events)]


OPENAI = Tape("openai", answered(_ANNOTATIONS), _SOURCES, ResponseDecoder)
OPENAI_NOTED = Tape("openai", answered(_ANNOTATIONS, noted=False), _SOURCES, ResponseDecoder)
XAI_RESPONSES = Tape("xai", answered([], citations=[SKY, NASA]), (Citation(SKY), Citation(NASA)), ResponseDecoder)
PERPLEXITY_RESPONSES = Tape(
    "perplexity",
    [
        {
            "type": "response.output_item.done",
            "output_index": 7,
            "item": {"type": "search_results", "queries": ["sky"], "results": _RESULTS},
        },
        *answered([]),
    ],
    (Citation(NASA, "Why is the sky blue?", "Air scatters"), Citation(SKY, "Sky - Wikipedia")),
    ResponseDecoder,
)
