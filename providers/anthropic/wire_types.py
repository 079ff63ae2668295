"""Events of the Messages API; more fields may come."""

from __future__ import annotations

from typing import Any, NotRequired, TypeAlias, TypedDict

UsageCounts: TypeAlias = "dict[str, int | dict[str, int | None] | str | None]"


class ErrorBody(TypedDict):
    type: NotRequired[str]
    message: NotRequired[str]


class ContentBlock(TypedDict):
    type: str
    text: NotRequired[str]
    thinking: NotRequired[str]
    signature: NotRequired[str]
    citations: NotRequired[list[dict[str, Any]] | None]
    data: str
    id: str
    name: str
    input: NotRequired[dict[str, object]]


class StopDetails(TypedDict):
    explanation: NotRequired[str | None]


class EventDelta(TypedDict):
    type: str
    text: str
    partial_json: str
    thinking: str
    signature: str
    citation: NotRequired[dict[str, Any] | None]
    stop_reason: NotRequired[str | None]
    stop_details: NotRequired[StopDetails | None]


class MessageHead(TypedDict):
    id: NotRequired[str]
    usage: NotRequired[UsageCounts]


class StreamEvent(TypedDict):
    """Fields depend on `type`."""

    type: str
    index: int
    message: MessageHead
    content_block: ContentBlock
    delta: EventDelta
    usage: NotRequired[UsageCounts]
    error: ErrorBody
