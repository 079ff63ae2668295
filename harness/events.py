"""What happens: one closed union of frozen dataclasses, each serialisable by `harness.codec`.

Order within a run (notes: `[]` may repeat, `?` may be missing):
AgentStart, [TurnStart, [MessageStart, MessageEnd of what the person said], ContextWarning?, RequestStart, MessageStart,
[MessageUpdate], MessageEnd, UsageUpdate, [ToolApprovalRequested, ToolApprovalResolved]?, [ToolExecutionStart,
[ToolExecutionUpdate], ToolExecutionEnd], TurnEnd], AgentEnd. AgentEnd comes exactly once on every path. Every tool call
gets exactly one ToolExecutionStart and one ToolExecutionEnd, whether it ran, was denied or was never possible.
Events are facts: no future, no callback inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.messages import (
    AssistantMessage,
    Message,
    ModelSpec,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from harness.provider import BlockDelta, BlockEnd, BlockStart
from harness.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class EventHeader:
    """Stamped by the bus: `seq` counts from 1 per agent, `time` is seconds since the epoch, `turn` counts from 1."""

    seq: int = 0
    time: float = 0.0
    session_id: str = ""
    loop_id: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart(EventHeader):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(EventHeader):
    """The run is over. `messages` are those it added; `limit` names the limit that ended it."""

    stop_reason: StopReason
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(EventHeader):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(EventHeader):
    message: AssistantMessage
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStart(EventHeader):
    """A request is about to be sent; `tokens` is our estimate of its length."""

    spec: ModelSpec
    message_count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(EventHeader):
    message_id: str
    role: Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate(EventHeader):
    message_id: str
    delta: BlockStart | BlockDelta | BlockEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(EventHeader):
    message: UserMessage | AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDiscarded(EventHeader):
    """What was streamed of this message does not count: the request failed and is sent again."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalRequested(EventHeader):
    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalResolved(EventHeader):
    call_id: str
    decision: Literal["once", "session", "always", "denied", "edited"]
    reason: str = ""
    unasked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionStart(EventHeader):
    call: ToolCall
    label: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionUpdate(EventHeader):
    call_id: str
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionEnd(EventHeader):
    """`duration` in seconds; zero when the call never ran."""

    result: ToolResult
    duration: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUpdate(EventHeader):
    """`usage` is this reply's, `total` the agent's; `context` of `window` tokens are in use."""

    usage: Usage
    total: Usage
    context: int
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWarning(EventHeader):
    """The window is filled to a fraction that matters (0.6, 0.8, 0.95)."""

    context: int
    window: int
    level: Literal["advise", "warn", "critical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(EventHeader):
    """The request failed and is sent again after `delay` seconds. `attempt` counts from 1."""

    attempt: int
    max_retries: int
    delay: float
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSubmitted(EventHeader):
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(EventHeader):
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged(EventHeader):
    spec: ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(EventHeader):
    limit: Literal["turns", "tokens", "seconds", "cost"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(EventHeader):
    """Something a person should know."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


Event: TypeAlias = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | RequestStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | MessageDiscarded
    | ToolApprovalRequested
    | ToolApprovalResolved
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | UsageUpdate
    | ContextWarning
    | RetryScheduled
    | PlanSubmitted
    | ModeChanged
    | ModelChanged
    | LimitReached
    | Notice
)
