"""What a proxy sends. The protocol is Swink-Agent's; what is ours beside it is marked, and may be missing."""

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

    Each has only some of these; those that may not be missing where they belong are required here.
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
    # Ours: thinking that a vendor encrypted, what a text rests on, and what an error is.
    redacted: NotRequired[str | None]
    citations: NotRequired[list[dict[str, Any]] | None]
    response_id: NotRequired[str | None]
    error_kind: NotRequired[str | None]
    retry_after: NotRequired[float | None]
