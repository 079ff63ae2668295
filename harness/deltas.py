"""Deltas: the parts of a reply in the order in which a provider streams them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from harness.messages import Citation, StopReason, Usage
from harness.structs import Tagged

BlockKind: TypeAlias = Literal["text", "thinking", "tool_call"]


class BlockStart(Tagged, frozen=True):
    """Start of a content block."""

    index: int
    """Number of the block in the reply, from 0."""
    kind: BlockKind
    """Type of the block."""
    call_id: str = ""
    """Id of the tool call; empty for other blocks."""
    name: str = ""
    """Name of the called tool; empty for other blocks."""


class BlockDelta(Tagged, frozen=True):
    """Next piece of a content block."""

    index: int
    """Number of the block in the reply."""
    text: str
    """Text, thinking, or a piece of a tool call's arguments as JSON text."""


class BlockEnd(Tagged, frozen=True):
    """End of a content block."""

    index: int
    """Number of the block in the reply."""
    signature: str | None = None
    """Vendor signature, to be sent back unchanged; see `Text.signature`."""
    redacted: str | None = None
    """Encrypted thinking."""
    citations: tuple[Citation, ...] = ()
    """Sources of a text block."""


class UsageReport(Struct, frozen=True):
    """Usage so far of a reply that has not ended, for services that report it; it counts if the reply never ends."""

    usage: Usage
    """Tokens used so far, in total: a later report replaces it, and so does `Done`."""


class Done(Struct, frozen=True):
    """End of a reply."""

    stop_reason: StopReason
    """Reason the model stopped."""
    usage: Usage = Usage()
    """Tokens used; without any, those of the last `UsageReport` count."""
    response_id: str = ""
    """Id the service gave the reply."""
    error: str | None = None
    """Explanation of the stop reason `error`, such as a refusal."""


Delta: TypeAlias = BlockStart | BlockDelta | BlockEnd | UsageReport | Done
