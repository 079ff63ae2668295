"""The Messages API's events as it sends them; fields may be missing, and others may come."""

from __future__ import annotations

from typing import TypeAlias, TypedDict

UsageCounts: TypeAlias = dict[str, int]


class ErrorBody(TypedDict, total=False):
    type: str
    message: str


class ContentBlock(TypedDict, total=False):
    type: str
    text: str
    thinking: str
    signature: str
    data: str
    id: str
    name: str
    input: dict[str, object]


class StopDetails(TypedDict, total=False):
    explanation: str | None


class EventDelta(TypedDict, total=False):
    type: str
    text: str
    partial_json: str
    thinking: str
    signature: str
    stop_reason: str | None
    stop_details: StopDetails | None


class MessageHead(TypedDict, total=False):
    id: str
    usage: UsageCounts


class StreamEvent(TypedDict, total=False):
    type: str
    index: int
    message: MessageHead
    content_block: ContentBlock
    delta: EventDelta
    usage: UsageCounts
    error: ErrorBody
