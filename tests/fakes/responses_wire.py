"""Replies and errors as OpenAI's Responses API sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from fakes.openai_wire import error_body, models_body
from fakes.script import Reply, pieces, tokens, usage_of

__all__ = ["error_body", "events", "models_body"]


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as server-sent events, each named and numbered; there is no `[DONE]`."""
    sequence = count()
    for event in _events(reply, model, number):
        data = json.dumps({**event, "sequence_number": next(sequence)}, ensure_ascii=False, separators=(",", ":"))
        yield f"event: {event['type']}\ndata: {data}\n\n".encode()


def _events(reply: Reply, model: str, number: int) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response(model, number, "in_progress")}
    yield {"type": "response.in_progress", "response": _response(model, number, "in_progress")}
    at = count()
    if reply.thinking:
        yield from _reasoning(reply, next(at), number)
    if reply.text:
        yield from _message(reply, next(at), number)
    for name, arguments in reply.calls:
        yield from _call(name, arguments, next(at), number)
    stopped = reply.stop == "length"
    ending = _response(model, number, "incomplete" if stopped else "completed")
    ending["usage"] = _usage(reply)
    if stopped:
        ending["incomplete_details"] = {"reason": "max_output_tokens"}
    yield {"type": f"response.{ending['status']}", "response": ending}


def _reasoning(reply: Reply, index: int, number: int) -> Iterator[dict[str, Any]]:
    item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{number}_{index}", "summary": []}
    place = {"output_index": index, "item_id": item["id"], "summary_index": 0}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    part = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": part}
    for text in tokens(reply.thinking):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": text}
    yield {"type": "response.reasoning_summary_text.done", **place, "text": reply.thinking}
    summary = [{"type": "summary_text", "text": reply.thinking}]
    done = {**item, "summary": summary, "encrypted_content": reply.signature}
    yield {"type": "response.output_item.done", "output_index": index, "item": done}


def _message(reply: Reply, index: int, number: int) -> Iterator[dict[str, Any]]:
    head = {"type": "message", "id": f"msg_{number}_{index}", "role": "assistant"}
    place = {"output_index": index, "item_id": head["id"], "content_index": 0}
    item = {**head, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    part = {"type": "output_text", "text": "", "annotations": []}
    yield {"type": "response.content_part.added", **place, "part": part}
    for text in tokens(reply.text):
        yield {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": reply.text, "logprobs": []}
    whole = {**part, "text": reply.text}
    yield {"type": "response.content_part.done", **place, "part": whole}
    done = {**head, "status": "completed", "content": [whole]}
    yield {"type": "response.output_item.done", "output_index": index, "item": done}


def _call(name: str, arguments: object, index: int, number: int) -> Iterator[dict[str, Any]]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    head = {
        "type": "function_call",
        "id": f"fc_{number}_{index}",
        "call_id": f"call_{number:04d}_{index}",
        "name": name,
    }
    place = {"output_index": index, "item_id": head["id"]}
    item = {**head, "arguments": "", "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    for text in pieces(written):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": text}
    yield {"type": "response.function_call_arguments.done", **place, "arguments": written, "name": name}
    done = {**head, "arguments": written, "status": "completed"}
    yield {"type": "response.output_item.done", "output_index": index, "item": done}


def _response(model: str, number: int, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_fake_{number:04d}",
        "object": "response",
        "created_at": 1_760_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
    }


def _usage(reply: Reply) -> dict[str, Any]:
    usage = usage_of(reply)
    read = usage.input + usage.cache_read
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + usage.output,
    }
