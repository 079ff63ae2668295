"""Replies, errors and lists as Amazon Bedrock sends them; replies are frames of Amazon's binary event stream."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from fakes.script import Reply, pieces, tokens, usage_of

CONTENT_TYPE = "application/vnd.amazon.eventstream"
STOP_REASONS = {"stop": "end_turn", "tool_use": "tool_use", "length": "max_tokens"}
ERROR_TYPES = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


def is_asked(path: str) -> bool:
    return re.fullmatch(r"(/v1)?/model/[^/]+/converse-stream", path) is not None


def frame(payload: bytes, **headers: str) -> bytes:
    """Return one message of the stream; header names start with a colon and have hyphens, unlike Python names."""
    head = b"".join(_header(f":{name.replace('_', '-')}", value) for name, value in headers.items())
    prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    unchecked = prelude + struct.pack("!I", crc32(prelude)) + head + payload
    return unchecked + struct.pack("!I", crc32(unchecked))


def event(kind: str, data: Mapping[str, Any]) -> bytes:
    payload = json.dumps({**data, "p": "abcdefgh"}, ensure_ascii=False).encode()
    return frame(payload, event_type=kind, content_type="application/json", message_type="event")


def exception(kind: str, message: str) -> bytes:
    payload = json.dumps({"message": message}).encode()
    return frame(payload, exception_type=kind, content_type="application/json", message_type="exception")


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    del model
    yield event("messageStart", {"role": "assistant"})
    index = 0
    if reply.thinking:
        for text in tokens(reply.thinking):
            yield _delta(index, {"reasoningContent": {"text": text}})
        yield _delta(index, {"reasoningContent": {"signature": reply.signature}})
        yield event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    if reply.text:
        for text in tokens(reply.text):
            yield _delta(index, {"text": text})
        yield event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    for place, (name, arguments) in enumerate(reply.calls, index):
        call = {"toolUseId": f"tooluse_{number:04d}{place}", "name": name}
        yield event("contentBlockStart", {"start": {"toolUse": call}, "contentBlockIndex": place})
        for piece in pieces(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)):
            yield _delta(place, {"toolUse": {"input": piece}})
        yield event("contentBlockStop", {"contentBlockIndex": place})
    stop = reply.stop or ("tool_use" if reply.calls else "stop")
    yield event("messageStop", {"stopReason": STOP_REASONS.get(stop, stop)})
    yield event("metadata", {"usage": _usage(reply), "metrics": {"latencyMs": 12}})


def error_body(status: int, message: str) -> dict[str, Any]:
    del status
    return {"message": message}


def listed(path: str, models: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the lists of the control plane: models for direct requests, and a profile."""
    match path.partition("?")[0]:
        case "/foundation-models":
            mute = {"modelId": "some.embedder", "responseStreamingSupported": False}
            return {"modelSummaries": [mute, *({"modelId": name, "modelName": name} for name in models)]}
        case "/inference-profiles":
            return {"inferenceProfileSummaries": [{"inferenceProfileId": "eu.acme.large-v1:0"}]}
        case _:
            return None


def _delta(index: int, delta: Mapping[str, Any]) -> bytes:
    return event("contentBlockDelta", {"delta": delta, "contentBlockIndex": index})


def _usage(reply: Reply) -> dict[str, int]:
    usage = usage_of(reply)
    counts = {"inputTokens": usage.input, "outputTokens": usage.output, "totalTokens": usage.context}
    return counts | {"cacheReadInputTokens": usage.cache_read, "cacheWriteInputTokens": usage.cache_write}


def _header(name: str, value: str) -> bytes:
    return struct.pack("!B", len(name)) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
