"""Events of the Converse API, each under its kind, and the parts of botocore that are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, Protocol, TypedDict


class ToolUseStart(TypedDict):
    toolUseId: NotRequired[str]
    name: str


class BlockHead(TypedDict):
    toolUse: NotRequired[ToolUseStart]


class BlockStartEvent(TypedDict):
    start: BlockHead
    contentBlockIndex: int


class ToolUsePiece(TypedDict):
    input: str


class ReasoningPiece(TypedDict):
    text: NotRequired[str]
    signature: NotRequired[str]
    redactedContent: NotRequired[str]


class BlockPiece(TypedDict):
    text: NotRequired[str]
    citation: NotRequired[dict[str, Any]]
    toolUse: NotRequired[ToolUsePiece]
    reasoningContent: NotRequired[ReasoningPiece]


class BlockDeltaEvent(TypedDict):
    delta: BlockPiece
    contentBlockIndex: int


class BlockStopEvent(TypedDict):
    contentBlockIndex: int


class MessageStopEvent(TypedDict):
    stopReason: str


class CacheDetail(TypedDict):
    """Tokens written with one lifetime."""

    ttl: str
    inputTokens: int


class TokenUsage(TypedDict):
    inputTokens: NotRequired[int]
    outputTokens: NotRequired[int]
    cacheReadInputTokens: NotRequired[int]
    cacheWriteInputTokens: NotRequired[int]
    cacheDetails: NotRequired[list[CacheDetail]]


class MetadataEvent(TypedDict):
    usage: NotRequired[TokenUsage]


class ExceptionEvent(TypedDict):
    message: NotRequired[str | None]
    originalMessage: NotRequired[str | None]
    originalStatusCode: NotRequired[int]


class StreamEvent(TypedDict, total=False):
    """Exactly one of these; error events have other names."""

    contentBlockStart: BlockStartEvent
    contentBlockDelta: BlockDeltaEvent
    contentBlockStop: BlockStopEvent
    messageStop: MessageStopEvent
    metadata: MetadataEvent


class FrozenCredentials(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class Credentials(Protocol):
    def get_frozen_credentials(self) -> FrozenCredentials: ...


class Session(Protocol):
    def get_credentials(self) -> Credentials | None: ...


class SignedRequest(Protocol):
    headers: Mapping[str, str]
