"""The vendors' own types as judges of what we send; imported here, and nowhere at run time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from harness.messages import JsonObject


def accepted_by_anthropic(body: JsonObject) -> bool:
    """Whether the SDK's types know every field of a body for the Messages API and find it well formed."""
    return _read(_messages_type().validate_python(body)) == body


def accepted_by_openai(body: JsonObject) -> bool:
    return _read(_completions_type().validate_python(body)) == body


def accepted_by_responses(body: JsonObject) -> bool:
    return _read(_responses_type().validate_python(body)) == body


def responses_event(data: Mapping[str, Any]) -> object:
    return _response_events_type().validate_python(data)


def anthropic_event(data: Mapping[str, Any]) -> object:
    return _events_type().validate_python(data)


def openai_chunk(data: Mapping[str, Any]) -> object:
    return _chunk_type().validate_python(data)


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


def _read(value: Any) -> Any:
    """The value as plain JSON; reading also checks the lists that pydantic checks only when they are read."""
    if isinstance(value, Mapping):
        return {key: _read(inner) for key, inner in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [_read(inner) for inner in value]
    return value
