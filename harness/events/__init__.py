"""Events: one closed union of frozen structs, each serializable by `harness.codec`.

Order within a run (`[]` may repeat, `?` is optional):
AgentStart, [TurnStart, [MessageStart, MessageEnd of a user message], ModelRouted?, RequestStart, MessageStart,
[MessageUpdate], MessageEnd, UsageUpdate, ContextWarning?, ToolCallsReceived?, [ToolApprovalRequested,
ToolApprovalResolved]?, [ToolExecutionStart, [ToolExecutionUpdate], ToolExecutionEnd], [MessageStart, MessageEnd of each
tool result, in call order], TurnEnd], AgentEnd.

AgentEnd comes exactly once on every path; it comes alone if a hook stops the run before it begins. Every tool call gets
exactly one ToolExecutionStart and one ToolExecutionEnd, also if it was denied or invalid. A call blocked by a hook gets
neither; its result is in HookRan. Events are plain data: they contain no future and no callback.

The messages of all MessageEnd events, in order, are the history: each message that a run adds has exactly one.
"""

from __future__ import annotations

from typing import TypeAlias

from harness.events.model import (
    CompactionEnd,
    CompactionStart,
    ContextWarning,
    MessageDiscarded,
    MessageEnd,
    MessageRole,
    MessageStart,
    MessageUpdate,
    ModelChanged,
    ModelFallback,
    ModelRouted,
    RequestStart,
    RetryScheduled,
    UsageAdded,
    UsageUpdate,
)
from harness.events.run import (
    AgentEnd,
    AgentStart,
    Continuation,
    EventHeader,
    InputRejected,
    LimitReached,
    ModeChanged,
    Notice,
    PlanSubmitted,
    RunConfig,
    TurnEnd,
    TurnStart,
    TurnTrigger,
)
from harness.events.tools import (
    HookRan,
    JobEnded,
    JobStarted,
    QuestionAnswered,
    QuestionAsked,
    ToolApprovalRequested,
    ToolApprovalResolved,
    ToolCacheHit,
    ToolCallsReceived,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from harness.messages import ModelSpec, Usage

__all__ = [
    "AgentEnd",
    "AgentStart",
    "BranchEvent",
    "CompactionEnd",
    "CompactionStart",
    "ContextWarning",
    "Continuation",
    "Event",
    "EventHeader",
    "HookRan",
    "InputRejected",
    "JobEnded",
    "JobStarted",
    "LimitReached",
    "MessageDiscarded",
    "MessageEnd",
    "MessageRole",
    "MessageStart",
    "MessageUpdate",
    "ModeChanged",
    "ModelChanged",
    "ModelFallback",
    "ModelRouted",
    "Notice",
    "ParallelEnd",
    "ParallelStart",
    "PlanSubmitted",
    "QuestionAnswered",
    "QuestionAsked",
    "RequestStart",
    "RetryScheduled",
    "RunConfig",
    "SubagentEvent",
    "ToolApprovalRequested",
    "ToolApprovalResolved",
    "ToolCacheHit",
    "ToolCallsReceived",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "TurnEnd",
    "TurnStart",
    "TurnTrigger",
    "UsageAdded",
    "UsageUpdate",
]


class SubagentEvent(EventHeader, frozen=True, kw_only=True):
    """An event of a subagent."""

    call_id: str
    """Tool call that started the subagent."""
    event: Event
    """The event."""


class ParallelStart(EventHeader, frozen=True, kw_only=True):
    """A prompt is sent to several configurations."""

    run_ids: tuple[str, ...]
    """Ids of their runs, in order."""
    specs: tuple[ModelSpec, ...] = ()
    """Their models, in order."""


class BranchEvent(EventHeader, frozen=True, kw_only=True):
    """An event of one of several parallel runs."""

    event: Event
    """The event; its header identifies the run."""


class ParallelEnd(EventHeader, frozen=True, kw_only=True):
    """One of several parallel runs was selected, or none."""

    selected_run_id: str
    """Id of the selected run; empty if none."""
    selected_index: int
    """Index of the selected run, from 0; -1 if none."""
    usage: Usage = Usage()
    """Usage of the selection itself."""
    usage_beside: Usage = Usage()
    """Usage of the selection and of the runs that were not selected."""
    reason: str = ""
    """Reason for the selection, or for selecting none."""


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
    | ToolCallsReceived
    | ToolApprovalRequested
    | ToolApprovalResolved
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | ToolCacheHit
    | QuestionAsked
    | QuestionAnswered
    | UsageUpdate
    | UsageAdded
    | ContextWarning
    | CompactionStart
    | CompactionEnd
    | RetryScheduled
    | ModelRouted
    | ModelFallback
    | InputRejected
    | HookRan
    | SubagentEvent
    | JobStarted
    | JobEnded
    | ParallelStart
    | BranchEvent
    | ParallelEnd
    | PlanSubmitted
    | ModeChanged
    | ModelChanged
    | LimitReached
    | Notice
)
