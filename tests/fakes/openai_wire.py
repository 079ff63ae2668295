"""Replies and errors as OpenAI's Chat Completions and compatible servers send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fakes.script import Reply, pieces, tokens, usage_of

FINISH_REASONS = {"stop": "stop", "length": "length", "tool_use": "tool_calls"}


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as server-sent events; usage comes after the finish reason with no choices, then `[DONE]`."""
    head = {
        "id": f"chatcmpl-fake-{number:04d}",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": model,
    }
    yield _chunk(head, {"role": "assistant", "content": ""})
    for text in tokens(reply.thinking):
        yield _chunk(head, {"reasoning_content": text})
    for text in tokens(reply.text):
        yield _chunk(head, {"content": text})
    for delta in _call_deltas(reply, number):
        yield _chunk(head, {"tool_calls": [delta]})
    stop = reply.stop or ("tool_use" if reply.calls else "stop")
    yield _chunk(head, {}, FINISH_REASONS.get(stop, stop))
    yield _data({**head, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def error_body(status: int, message: str) -> dict[str, Any]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def models_body(models: tuple[str, ...]) -> dict[str, Any]:
    data = [{"id": name, "object": "model", "created": 1_760_000_000, "owned_by": "fake"} for name in models]
    return {"object": "list", "data": data}


def _call_deltas(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    for index, (name, arguments) in enumerate(reply.calls):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        function = {"name": name, "arguments": ""}
        yield {"index": index, "id": f"call_{number:04d}_{index}", "type": "function", "function": function}
        for text in pieces(written):
            yield {"index": index, "function": {"arguments": text}}


def _usage(reply: Reply) -> dict[str, Any]:
    usage = usage_of(reply)
    prompt = usage.input + usage.cache_read
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
