"""Replies and errors as the Gemini API sends them, at Google and in Google Cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fakes.script import Reply, tokens, usage_of

FINISH_REASONS = {"stop": "STOP", "tool_use": "STOP", "length": "MAX_TOKENS"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def is_asked(path: str) -> bool:
    return path.partition("?")[0].endswith(":streamGenerateContent") and path.endswith("?alt=sse")


def lists_models(path: str) -> bool:
    return path.partition("?")[0] in ("/v1beta/models", "/v1beta1/publishers/google/models")


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as server-sent events: text in pieces, calls complete, each event with the counts so far.

    As with newer models, the first call has the signature; a reply without calls has it on an empty text at its end.
    """
    *parts, last = [*_parts(reply, number), {"text": ""}]
    if reply.thinking and not reply.calls:
        last["thoughtSignature"] = reply.signature
    for part in parts:
        yield _event(reply, model, number, part)
    stop = reply.stop or "stop"
    yield _event(reply, model, number, last, FINISH_REASONS.get(stop, stop))


def error_body(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN")}}


def models_body(models: tuple[str, ...]) -> dict[str, Any]:
    methods = ["generateContent", "countTokens"]
    data = [{"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods} for name in models]
    return {"models": [{"name": "models/embedder", "supportedGenerationMethods": ["embedContent"]}, *data]}


def _parts(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    for text in tokens(reply.thinking):
        yield {"text": text, "thought": True}
    for text in tokens(reply.text):
        yield {"text": text}
    for index, (name, arguments) in enumerate(reply.calls):
        args = json.loads(arguments) if isinstance(arguments, str) else arguments
        call = {"functionCall": {"name": name, "args": args, "id": f"fc{number:04d}{index}"}}
        yield {**call, "thoughtSignature": reply.signature} if index == 0 else call


def _event(reply: Reply, model: str, number: int, part: dict[str, Any], finish: str = "") -> bytes:
    candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    event = {
        "candidates": [candidate],
        "usageMetadata": _usage(reply),
        "modelVersion": model or "fake-model",
        "responseId": f"fake-{number:04d}",
    }
    # Google sends lines ending in CR LF.
    return f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n".encode()


def _usage(reply: Reply) -> dict[str, Any]:
    usage = usage_of(reply)
    read, thought = usage.input + usage.cache_read, len(tokens(reply.thinking))
    counts = {
        "promptTokenCount": read,
        "candidatesTokenCount": usage.output - thought,
        "totalTokenCount": read + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": read}],
        "thoughtsTokenCount": thought,
    }
    return {**counts, "cachedContentTokenCount": usage.cache_read} if usage.cache_read else counts
