"""Stream chunks of Chat Completions: any field may be missing, and others may come."""

from __future__ import annotations

from typing import Any, TypedDict


class FunctionPart(TypedDict, total=False):
    name: str | None
    arguments: str | dict[str, object] | None


class CallPart(TypedDict, total=False):
    index: int | None
    id: str | None
    function: FunctionPart | None


class ChunkDelta(TypedDict, total=False):
    content: str | list[dict[str, Any]] | None
    refusal: str | None
    reasoning: str | None
    reasoning_content: str | None
    reasoning_details: list[dict[str, Any]] | None
    tool_calls: list[CallPart] | None
    function_call: FunctionPart | None
    annotations: list[dict[str, Any]] | None
    executed_tools: list[dict[str, Any]] | None


class ChunkUsage(TypedDict, total=False):
    prompt_tokens: int | None
    completion_tokens: int | None
    prompt_cache_hit_tokens: int | None
    cached_tokens: int | None
    prompt_tokens_details: dict[str, int | None] | None


class ChunkChoice(TypedDict, total=False):
    delta: ChunkDelta | None
    finish_reason: str | None
    usage: ChunkUsage | None


class Chunk(TypedDict, total=False):
    id: str | None
    object: str | None
    choices: list[ChunkChoice] | None
    usage: ChunkUsage | None
    citations: list[str] | None
    search_results: list[dict[str, Any]] | None
    web_search: list[dict[str, Any]] | None
    error: str | dict[str, Any] | None
    base_resp: dict[str, Any] | None
    """MiniMax's error report: its `status_code` is not 0."""
