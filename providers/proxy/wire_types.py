"""Events of a proxy: Swink-Agent's protocol with optional extensions."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class WireUsage(TypedDict, total=False):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class WireCost(TypedDict, total=False):
    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class StreamEvent(TypedDict):
    """One event: `start`, `<block>_start`, `<block>_delta`, `<block>_end`, `done` or `error`.

    Each has only some of these fields; those required where they belong are marked as required here.
    """

    type: str
    content_index: int
    delta: str
    id: NotRequired[str]
    name: str
    signature: NotRequired[str | None]
    stop_reason: str
    usage: NotRequired[WireUsage | None]
    cost: NotRequired[WireCost | None]
    error_message: str
    # Extensions: encrypted thinking, citations, and the kind of an error.
    redacted: NotRequired[str | None]
    citations: NotRequired[list[dict[str, Any]] | None]
    response_id: NotRequired[str | None]
    error_kind: NotRequired[str | None]
    retry_after: NotRequired[float | None]
