"""Replies with sources, in the original form of each service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes import cited_chat_tapes as chat_tapes
from fakes.cited_chat_tapes import NASA, SKY, SPAN, TEXT, Tape, tape

from harness.messages import Citation


def _block(index: int, *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "", "citations": []}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _cited(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "citations_delta", "citation": {"type": kind, "cited_text": "The sky", **fields}}


_WEB = _cited("web_search_result_location", url=SKY, title="Sky", encrypted_index="Eo8B")
_USAGE = {"input_tokens": 3, "output_tokens": 1}

ANTHROPIC = tape(
    "anthropic",
    [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": _USAGE,
            },
        },
        *_block(
            0,
            {"type": "text_delta", "text": TEXT},
            _WEB,
            _cited(
                "search_result_location",
                source="https://docs.example.com/a",
                title="A",
                search_result_index=0,
                start_block_index=0,
                end_block_index=1,
            ),
            _WEB,
            _cited("char_location", document_index=0, document_title="Notes", start_char_index=0, end_char_index=7),
            _cited("page_location", document_index=1, document_title="b.pdf", start_page_number=1, end_page_number=2),
            _cited(
                "content_block_location", document_index=2, file_id="file_9", start_block_index=0, end_block_index=2
            ),
        ),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ],
    Citation(SKY, "Sky", "The sky"),
    Citation("https://docs.example.com/a", "A", "The sky"),
    Citation("", "Notes", "The sky"),
    Citation("", "b.pdf", "The sky"),
    Citation("", "file_9", "The sky"),
)

_CHUNKS = [{"web": {"uri": NASA, "title": "nasa.gov"}}, {"web": {"uri": SKY, "title": "wikipedia.org"}}]
_START, _END = len(TEXT[: SPAN[0]].encode()), len(TEXT[: SPAN[1]].encode())


def _part(text: str, **candidate: Any) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **candidate}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 9, "totalTokenCount": 12},
        "responseId": "r1",
    }


_SUPPORT = {
    "segment": {"startIndex": _START, "endIndex": _END, "text": TEXT[slice(*SPAN)]},
    "groundingChunkIndices": [1],
}
GEMINI = tape(
    "gemini",
    [
        _part(TEXT[:9]),
        _part(TEXT[9:], groundingMetadata={"groundingChunks": _CHUNKS[:1], "webSearchQueries": ["sky"]}),
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"}]},
                    "citationMetadata": {
                        "citationSources": [{"startIndex": 0, "endIndex": 7, "uri": "https://x.example/song"}]
                    },
                }
            ]
        },
        {
            "candidates": [
                {
                    "finishReason": "STOP",
                    "index": 0,
                    "groundingMetadata": {"groundingChunks": _CHUNKS, "groundingSupports": [_SUPPORT]},
                }
            ],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 9, "totalTokenCount": 12},
        },
    ],
    Citation("https://x.example/song", "", "", 0, 5),
    Citation(SKY, "wikipedia.org", "", *SPAN),
    Citation(NASA, "nasa.gov"),
)
VERTEX = tape(
    "vertex",
    [
        _part(
            TEXT,
            finishReason="STOP",
            citationMetadata={"citations": [{"startIndex": 0, "endIndex": 7, "uri": SKY, "title": "Sky"}]},
            groundingMetadata={
                "groundingChunks": [
                    {"retrievedContext": {"uri": "gs://bucket/a.pdf", "title": "a.pdf", "text": "It is blue"}}
                ],
                "groundingSupports": [{"segment": {"endIndex": 99_999}, "groundingChunkIndices": [0, 7]}],
            },
        )
    ],
    Citation(SKY, "Sky", "", 0, 5),
    Citation("gs://bucket/a.pdf", "a.pdf", "It is blue"),
)

BEDROCK = tape(
    "bedrock",
    [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": TEXT}, "contentBlockIndex": 0}},
        {
            "contentBlockDelta": {
                "delta": {
                    "citation": {
                        "title": "b.pdf",
                        "sourceContent": [{"text": "The "}, {"text": "sky"}],
                        "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}},
                    }
                },
                "contentBlockIndex": 0,
            }
        },
        {
            "contentBlockDelta": {
                "delta": {"citation": {"location": {"web": {"url": SKY, "domain": "wikipedia.org"}}}},
                "contentBlockIndex": 0,
            }
        },
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 9, "totalTokens": 12}}},
    ],
    Citation("", "b.pdf", "The sky"),
    Citation(SKY, "wikipedia.org"),
)

PROXY = tape(
    "proxy",
    [
        {"type": "start"},
        {"type": "text_start", "content_index": 0},
        {"type": "text_delta", "content_index": 0, "delta": TEXT},
        {
            "type": "text_end",
            "content_index": 0,
            "citations": [{"url": SKY, "title": "Sky", "quote": "The sky", "start": 0, "end": 5}, {"url": NASA}],
        },
        {"type": "done", "stop_reason": "stop"},
    ],
    Citation(SKY, "Sky", "The sky", 0, 5),
    Citation(NASA),
)

TAPES: Mapping[str, Tape] = {
    "anthropic": ANTHROPIC,
    "openai-chat": chat_tapes.OPENAI_CHAT,
    "openrouter": chat_tapes.OPENROUTER,
    "perplexity": chat_tapes.PERPLEXITY,
    "xai": chat_tapes.XAI,
    "zai": chat_tapes.ZAI,
    "groq": chat_tapes.GROQ,
    "mistral": chat_tapes.MISTRAL,
    "openai": chat_tapes.OPENAI,
    "openai, noted only": chat_tapes.OPENAI_NOTED,
    "xai, responses": chat_tapes.XAI_RESPONSES,
    "perplexity, responses": chat_tapes.PERPLEXITY_RESPONSES,
    "gemini": GEMINI,
    "vertex": VERTEX,
    "bedrock": BEDROCK,
    "proxy": PROXY,
}
