"""Replies, errors and lists as Ollama's own API sends them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fakes.script import Reply, tokens, usage_of

CONTENT_TYPE = "application/x-ndjson"
MOMENT = "2026-11-21T09:00:00.000000Z"
TRAINED_WINDOW = 131_072


def events(reply: Reply, model: str, number: int) -> Iterator[bytes]:
    """Return the reply as lines of JSON; calls come complete."""
    for text in tokens(reply.thinking):
        yield _line(model, {"content": "", "thinking": text})
    for text in tokens(reply.text):
        yield _line(model, {"content": text})
    for index, (name, arguments) in enumerate(reply.calls):
        function = {"index": index, "name": name, "arguments": arguments}
        call = {"id": f"call_{number:04d}_{index}", "function": function}
        yield _line(model, {"content": "", "tool_calls": [call]})
    usage = usage_of(reply)
    done = {
        "done_reason": reply.stop if reply.stop and reply.stop != "tool_use" else "stop",
        "total_duration": 5_000,
        "load_duration": 1_000,
        "prompt_eval_count": usage.input + usage.cache_read,
        "prompt_eval_duration": 2_000,
        "eval_count": usage.output,
        "eval_duration": 2_000,
    }
    yield _line(model, {"content": ""}, done)


def error_body(status: int, message: str) -> dict[str, Any]:
    del status
    return {"error": message}


def listed(path: str, models: tuple[str, ...], loaded: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the lists of a server: pulled models, and loaded ones with their context window."""
    match path:
        case "/api/tags":
            entries = [{"name": name, "model": name, "modified_at": MOMENT, "size": 1} for name in models]
        case "/api/ps":
            entries = [{"name": name, "model": name, "context_length": window} for name, window in loaded.items()]
        case _:
            return None
    return {"models": entries}


def show_body() -> dict[str, Any]:
    return {
        "parameters": 'stop                           "<|im_end|>"\ntemperature                    0.7',
        "details": {"format": "gguf", "family": "qwen3"},
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": TRAINED_WINDOW},
        "capabilities": ["completion", "tools", "thinking", "vision"],
    }


def _line(model: str, message: dict[str, Any], done: dict[str, Any] | None = None) -> bytes:
    line = {"model": model, "created_at": MOMENT, "message": {"role": "assistant", **message}, "done": done is not None}
    return json.dumps(line | (done or {}), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
