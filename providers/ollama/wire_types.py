"""Lines of Ollama's stream: any field may be missing, and others may come."""

from __future__ import annotations

from typing import Any, TypedDict


class FunctionPart(TypedDict, total=False):
    name: str | None
    arguments: dict[str, Any] | str | None


class CallPart(TypedDict, total=False):
    id: str | None
    function: FunctionPart | None


class MessagePart(TypedDict, total=False):
    content: str | None
    thinking: str | None
    tool_calls: list[CallPart] | None


class Line(TypedDict, total=False):
    message: MessagePart | None
    done: bool | None
    done_reason: str | None
    prompt_eval_count: int | None
    eval_count: int | None
    error: str | dict[str, Any] | None
