"""Replies and errors as the Anthropic Messages API sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fakes.script import Reply, pieces, tokens, usage_of

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_use": "tool_use"}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as server-sent events, each with its blank line."""
    yield _event("message_start", message=_message(reply, model, number))
    yield _event("ping")
    for index, (block, deltas) in enumerate(_blocks(reply, number)):
        yield _event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    stop = reply.stop or ("tool_use" if reply.calls else "stop")
    yield _event(
        "message_delta",
        delta={"stop_reason": STOP_REASONS.get(stop, stop), "stop_sequence": None},
        usage={"output_tokens": usage_of(reply).output},
    )
    yield _event("message_stop")


def error_body(status: int, message: str) -> dict[str, Any]:
    kind = ERROR_TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}


def models_body(models: tuple[str, ...]) -> dict[str, Any]:
    data = [
        {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"} for name in models
    ]
    return {"data": data, "has_more": False, "first_id": models[0] if models else None, "last_id": None}


def _message(reply: Reply, model: str, number: int) -> dict[str, Any]:
    usage = usage_of(reply)
    return {
        "id": f"msg_fake_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": 1,
        },
    }


def _blocks(reply: Reply, number: int) -> Iterator[tuple[dict[str, Any], Iterator[dict[str, Any]]]]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": "", "signature": ""}, _thinking_deltas(reply)
    if reply.text:
        yield {"type": "text", "text": ""}, ({"type": "text_delta", "text": text} for text in tokens(reply.text))
    for position, (name, arguments) in enumerate(reply.calls):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        call_id = f"toolu_{number:04d}_{position}"
        block: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield block, ({"type": "input_json_delta", "partial_json": text} for text in ["", *pieces(written)])


def _thinking_deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    for text in tokens(reply.thinking):
        yield {"type": "thinking_delta", "thinking": text}
    yield {"type": "signature_delta", "signature": reply.signature}


def _event(name: str, **fields: Any) -> bytes:
    data = json.dumps({"type": name, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()
