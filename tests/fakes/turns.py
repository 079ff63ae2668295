"""Protocol-independent reading of a request's body."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Speaker = Literal["user", "model"]


@dataclass(frozen=True, slots=True)
class Said:
    """One content item: a `text`, an `image`, a `thought`, a `call` with its `id` and `name`, or a `result`."""

    speaker: Speaker
    kind: str
    text: str = ""
    id: str = ""
    name: str = ""
    message: int = 0


def said_by(protocol: str, body: Mapping[str, Any]) -> list[Said]:
    """Return all content items in order; `message` is the index of their message."""
    read = READERS[protocol]
    messages = next(body[name] for name in ("messages", "input", "contents") if name in body)
    spoken = [message for message in messages if message.get("role") not in ("system", "developer")]
    return [said for number, message in enumerate(spoken) for said in read(message, number)]


def _anthropic(message: Mapping[str, Any], number: int) -> Iterator[Said]:
    speaker = _speaker(message["role"])
    assert message["content"], "an empty message"
    for block in message["content"]:
        match block:
            case {"type": "text", "text": text}:
                yield Said(speaker, "text", text, message=number)
            case {"type": "tool_use", "id": call_id, "name": name}:
                yield Said(speaker, "call", id=call_id, name=name, message=number)
            case {"type": "tool_result", "tool_use_id": call_id}:
                yield Said(speaker, "result", json.dumps(block.get("content")), call_id, message=number)
            case {"type": "image"}:
                yield Said(speaker, "image", message=number)
            case _:
                yield Said(speaker, "thought", json.dumps(block), message=number)


def _chat(message: Mapping[str, Any], number: int) -> Iterator[Said]:
    if message["role"] == "tool":
        text = "".join(part["text"] for part in _parts(message))
        yield Said("user", "result", text, message["tool_call_id"], message=number)
        return
    speaker = _speaker(message["role"])
    parts = _parts(message)
    assert parts or message.get("tool_calls"), "an empty message"
    for part in parts:
        kind = {"text": "text", "image_url": "image"}.get(part["type"], "thought")
        yield Said(speaker, kind, part.get("text", ""), message=number)
    yield from (Said(speaker, "image", message=number) for _ in message.get("images", ()))
    for call in message.get("tool_calls", ()):
        yield Said(speaker, "call", id=call["id"], name=call["function"]["name"], message=number)


def _parts(message: Mapping[str, Any]) -> list[Any]:
    content: Any = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _responses(item: Mapping[str, Any], number: int) -> Iterator[Said]:
    match item:
        case {"type": "message", "role": role, "content": str(text)}:
            yield Said(_speaker(role), "text", text, message=number)
        case {"type": "message", "role": role, "content": [*parts]}:
            assert parts, "an empty message"
            for part in parts:
                kind = "text" if part["type"] == "input_text" else "image"
                yield Said(_speaker(role), kind, part.get("text", ""), message=number)
        case {"type": "function_call", "call_id": call_id, "name": name}:
            yield Said("model", "call", id=call_id, name=name, message=number)
        case {"type": "function_call_output", "call_id": call_id, "output": output}:
            assert output, "an empty result"
            yield Said("user", "result", json.dumps(output), call_id, message=number)
        case _:
            yield Said("model", "thought", json.dumps(item), message=number)


def _gemini(content: Mapping[str, Any], number: int) -> Iterator[Said]:
    speaker = _speaker(content["role"])
    assert content["parts"], "an empty message"
    for part in content["parts"]:
        match part:
            case {"functionCall": {"id": call_id, "name": name}}:
                yield Said(speaker, "call", id=call_id, name=name, message=number)
            case {"functionResponse": {"id": call_id, "name": name, "response": response}}:
                yield Said(speaker, "result", json.dumps(response), call_id, name, message=number)
            case {"thought": True}:
                yield Said(speaker, "thought", json.dumps(part), message=number)
            case {"text": text}:
                yield Said(speaker, "thought" if not text else "text", text, message=number)
            case _:
                yield Said(speaker, "image", message=number)


def _bedrock(message: Mapping[str, Any], number: int) -> Iterator[Said]:
    speaker = _speaker(message["role"])
    assert message["content"], "an empty message"
    for block in message["content"]:
        match block:
            case {"text": text}:
                yield Said(speaker, "text", text, message=number)
            case {"toolUse": {"toolUseId": call_id, "name": name}}:
                yield Said(speaker, "call", id=call_id, name=name, message=number)
            case {"toolResult": {"toolUseId": call_id, "content": content}}:
                assert content, "an empty result"
                yield Said(speaker, "result", json.dumps(content), call_id, message=number)
            case {"image": _}:
                yield Said(speaker, "image", message=number)
            case {"cachePoint": _}:
                pass
            case _:
                yield Said(speaker, "thought", json.dumps(block), message=number)


def _speaker(role: str) -> Speaker:
    return "user" if role == "user" else "model"


READERS = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "bedrock": _bedrock,
}
