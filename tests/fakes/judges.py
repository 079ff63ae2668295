"""Validation of our requests by the vendors' own types, which are never imported at run time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from harness.messages import JsonObject

SERVERS_OWN = frozenset(("truncate", "shift", "id", "tool_call_id"))
"""Fields of Ollama's server that its Python SDK does not have."""


def accepted_by_anthropic(body: JsonObject) -> bool:
    """Return True if the SDK's types accept a Messages API body and know every field."""
    return _read(_messages_type().validate_python(body)) == body


def accepted_by_openai(body: JsonObject) -> bool:
    return _read(_completions_type().validate_python(body)) == body


def accepted_by_responses(body: JsonObject) -> bool:
    return _read(_responses_type().validate_python(body)) == body


def accepted_by_ollama(body: JsonObject) -> bool:
    """Return True if the SDK's types accept the body and know every field except those only the server knows."""
    from ollama._types import ChatRequest

    known = _without(body, SERVERS_OWN)
    return ChatRequest(**known).model_dump(exclude_none=True) == known


def accepted_by_mistral(body: JsonObject) -> bool:
    """Return True if the SDK's types know every field of the body; they add defaults of their own."""
    from mistralai.client.models import ChatCompletionStreamRequest

    return _covers(ChatCompletionStreamRequest.model_validate(body).model_dump(mode="json", by_alias=True), body)


def responses_event(data: Mapping[str, Any]) -> object:
    return _response_events_type().validate_python(data)


def accepted_by_google(body: JsonObject) -> bool:
    """Return True if the SDK's types know every field of each part; it has no type for a whole body."""
    from google.genai import types

    judges = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    return all(_reads_as(judges[name], value) for name, value in body.items())


def gemini_event(data: Mapping[str, Any]) -> bool:
    from google.genai.types import GenerateContentResponse

    return _reads_as(GenerateContentResponse, data)


def anthropic_event(data: Mapping[str, Any]) -> object:
    return _events_type().validate_python(data)


def openai_chunk(data: Mapping[str, Any]) -> object:
    return _chunk_type().validate_python(data)


def _reads_as(kind: Any, value: Any) -> bool:
    """Return True if a type knows every field of a value; unknown ones are rejected or dropped."""
    adapter = _adapter(kind)
    read = adapter.validate_json(json.dumps(value))
    written = adapter.dump_python(read, mode="json", by_alias=True, exclude_none=True)
    return _in_one_alphabet(written) == _in_one_alphabet(value)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _in_one_alphabet(value: Any) -> str:
    """Return the value as text, with base64 in the alphabet that pydantic writes."""
    return json.dumps(value, sort_keys=True).replace("+", "-").replace("/", "_")


@cache
def _messages_type() -> TypeAdapter[Any]:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


@cache
def _completions_type() -> TypeAdapter[Any]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return TypeAdapter(CompletionCreateParamsStreaming)


@cache
def _responses_type() -> TypeAdapter[Any]:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return TypeAdapter(ResponseCreateParamsStreaming)


@cache
def _response_events_type() -> TypeAdapter[Any]:
    from openai.types.responses import ResponseStreamEvent

    return TypeAdapter(ResponseStreamEvent)


@cache
def _events_type() -> TypeAdapter[Any]:
    from anthropic.types import RawMessageStreamEvent

    return TypeAdapter(RawMessageStreamEvent)


@cache
def _chunk_type() -> TypeAdapter[Any]:
    from openai.types.chat import ChatCompletionChunk

    return TypeAdapter(ChatCompletionChunk)


def _covers(known: Any, sent: Any) -> bool:
    if isinstance(sent, Mapping):
        return all(name in known and _covers(known[name], inner) for name, inner in sent.items())
    if isinstance(sent, list):
        return len(known) == len(sent) and all(map(_covers, known, sent))
    return known == sent


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    return [_without(inner, names) for inner in value] if isinstance(value, list) else value


def _read(value: Any) -> Any:
    """Return the value as plain JSON; this validates lists that pydantic checks lazily."""
    if isinstance(value, BaseModel):
        # A block of a reply, which requests may contain as well.
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return {key: _read(inner) for key, inner in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [_read(inner) for inner in value]
    return value
