"""Replies and errors as a proxy sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from fakes.openai_wire import models_body
from fakes.script import Reply, pieces, tokens, usage_of

__all__ = ["error_body", "events", "models_body"]

NO_COST = {"input": 0.0, "output": 0.0, "cache_read": 0.0, "cache_write": 0.0, "total": 0.0}


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as server-sent events, each after a comment that keeps the connection open."""
    del model
    for event in _events(reply, number):
        yield b": keep-alive\n\n" + sse(event)


def sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def error_body(status: int, message: str) -> dict[str, Any]:
    del status
    return {"error": message}


def _events(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    yield {"type": "start"}
    at = count()
    if reply.thinking:
        end = {"signature": reply.signature}
        yield from _block("thinking", next(at), tokens(reply.thinking), {}, end)
    if reply.text:
        yield from _block("text", next(at), tokens(reply.text), {}, {})
    for name, arguments in reply.calls:
        index = next(at)
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        call = {"id": f"call_{number:04d}_{index}", "name": name}
        yield from _block("tool_call", index, pieces(written), call, {})
    usage = usage_of(reply)
    counts = {"input": usage.input, "output": usage.output, "cache_read": usage.cache_read}
    yield {
        "type": "done",
        "stop_reason": reply.stop or ("tool_use" if reply.calls else "stop"),
        "usage": {**counts, "cache_write": usage.cache_write, "total": usage.context},
        "cost": NO_COST,
    }


def _block(
    kind: str, index: int, texts: list[str], start: dict[str, Any], end: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    yield {"type": f"{kind}_start", "content_index": index, **start}
    for text in texts:
        yield {"type": f"{kind}_delta", "content_index": index, "delta": text}
    yield {"type": f"{kind}_end", "content_index": index, **end}
