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

from harness.events.model import CompactionEnd as CompactionEnd
from harness.events.model import CompactionStart as CompactionStart
from harness.events.model import ContextWarning as ContextWarning
from harness.events.model import MessageDiscarded as MessageDiscarded
from harness.events.model import MessageEnd as MessageEnd
from harness.events.model import MessageRole as MessageRole
from harness.events.model import MessageStart as MessageStart
from harness.events.model import MessageUpdate as MessageUpdate
from harness.events.model import ModelChanged as ModelChanged
from harness.events.model import ModelFallback as ModelFallback
from harness.events.model import ModelRouted as ModelRouted
from harness.events.model import RequestStart as RequestStart
from harness.events.model import RetryScheduled as RetryScheduled
from harness.events.model import UsageAdded as UsageAdded
from harness.events.model import UsageUpdate as UsageUpdate
from harness.events.run import AgentEnd as AgentEnd
from harness.events.run import AgentStart as AgentStart
from harness.events.run import Continuation as Continuation
from harness.events.run import EventHeader as EventHeader
from harness.events.run import InputRejected as InputRejected
from harness.events.run import LimitReached as LimitReached
from harness.events.run import ModeChanged as ModeChanged
from harness.events.run import Notice as Notice
from harness.events.run import PlanSubmitted as PlanSubmitted
from harness.events.run import RunConfig as RunConfig
from harness.events.run import TurnEnd as TurnEnd
from harness.events.run import TurnStart as TurnStart
from harness.events.run import TurnTrigger as TurnTrigger
from harness.events.tools import HookRan as HookRan
from harness.events.tools import JobEnded as JobEnded
from harness.events.tools import JobStarted as JobStarted
from harness.events.tools import QuestionAnswered as QuestionAnswered
from harness.events.tools import QuestionAsked as QuestionAsked
from harness.events.tools import ToolApprovalRequested as ToolApprovalRequested
from harness.events.tools import ToolApprovalResolved as ToolApprovalResolved
from harness.events.tools import ToolCacheHit as ToolCacheHit
from harness.events.tools import ToolCallsReceived as ToolCallsReceived
from harness.events.tools import ToolExecutionEnd as ToolExecutionEnd
from harness.events.tools import ToolExecutionStart as ToolExecutionStart
from harness.events.tools import ToolExecutionUpdate as ToolExecutionUpdate
from harness.messages import ModelSpec, Usage


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
