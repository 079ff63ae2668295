"""Stream events of the Responses API; other events and fields may come.

`Required` fields are those that every event of a kind needs to be decoded.
"""

from __future__ import annotations

from typing import Any, Required, TypedDict


class TokenDetails(TypedDict, total=False):
    cached_tokens: int | None
    cache_write_tokens: int | None


class ResponseUsage(TypedDict, total=False):
    input_tokens: int | None
    output_tokens: int | None
    input_tokens_details: TokenDetails | None


class IncompleteDetails(TypedDict, total=False):
    reason: str | None


class OutputItem(TypedDict, total=False):
    """A reasoning item, a message or a function call."""

    type: Required[str]
    id: str | None
    call_id: str | None
    name: str | None
    arguments: str | None
    content: list[dict[str, Any]] | None
    summary: list[dict[str, Any]] | None
    encrypted_content: str | None
    results: list[dict[str, Any]] | None


class ResponseBody(TypedDict, total=False):
    id: str | None
    usage: ResponseUsage | None
    incomplete_details: IncompleteDetails | None
    error: dict[str, Any] | None
    citations: list[str] | None


class StreamEvent(TypedDict, total=False):
    type: Required[str]
    output_index: Required[int]
    summary_index: int
    content_index: int
    annotation: dict[str, Any] | None
    delta: Required[str]
    item: Required[OutputItem]
    response: Required[ResponseBody]
    message: str | None
    code: str | None
    error: dict[str, Any] | None
