"""Events: one closed union of frozen dataclasses, each serializable by `harness.codec`.

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

from dataclasses import field
from typing import Literal, TypeAlias

from harness.continuation import Continuation, TurnTrigger
from harness.event_header import EventHeader
from harness.job_events import JobEnded, JobStarted
from harness.lazy_dataclass import dataclass
from harness.messages import (
    AssistantMessage,
    JsonObject,
    JsonValue,
    Message,
    ModelSpec,
    StopReason,
    ToolResult,
    Usage,
)
from harness.model_events import ModelChanged, ModelFallback, ModelRouted, RetryScheduled
from harness.ports.provider import BlockDelta, BlockEnd, BlockKind, BlockStart
from harness.run_config import RunConfig
from harness.tool_events import (
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

MessageRole: TypeAlias = Literal["user", "assistant", "tool_result", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart(EventHeader):
    """A run begins."""

    agent_id: str = ""
    """Id of the agent."""
    parent_run_id: str = ""
    """Run that this one continues or, for a subagent, the run that called it."""
    continuation: Continuation | None = None
    """How the run continues an earlier one; None if a prompt started it."""
    spec: ModelSpec | None = None
    """Model at the start of the run."""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    """Data the program passed with the prompt."""
    config: RunConfig | None = None
    """Configuration at the start of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(EventHeader):
    """A run ended. Published exactly once per run."""

    stop_reason: StopReason
    """Reason the run ended."""
    messages: tuple[Message, ...] = ()
    """Messages that the run added."""
    usage: Usage = Usage()
    """Tokens and cost of the run."""
    error: str | None = None
    """Description of the error if `stop_reason` is `error` or `aborted`; None otherwise."""
    error_type: str = ""
    """Class name in `harness.errors`; empty if there is none."""
    limit: str = ""
    """Limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy`; empty if none."""
    stop_message: str = ""
    """Explanation of the limit."""
    rejection: str = ""
    """Reason a guardrail, or a hook before the run, kept the run from starting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(EventHeader):
    """A turn begins. The new user messages follow, then the reply."""

    trigger: TurnTrigger = "user"
    """What started the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(EventHeader):
    """A turn ended."""

    message: AssistantMessage
    """Reply of the model."""
    results: tuple[ToolResult, ...] = ()
    """Results of its tool calls, in call order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStart(EventHeader):
    """A model call is about to be sent."""

    spec: ModelSpec
    """Model that is called."""
    message_count: int
    """Number of messages in the context."""
    tokens: int
    """Estimated length of the request in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(EventHeader):
    """A message begins; `MessageEnd` or, for a reply that is requested again, `MessageDiscarded` has the same id.

    Only replies are streamed between the two; a user message or tool result starts and ends at once.
    """

    message_id: str
    role: MessageRole


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate(EventHeader):
    """Next piece of a streamed reply."""

    message_id: str
    """Id of the message."""
    delta: BlockStart | BlockDelta | BlockEnd
    """The piece; its `index` identifies the content block."""
    kind: BlockKind = "text"
    """Type of the content block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(EventHeader):
    """A message is complete and part of the history.

    Tool results end in call order, once every call of the reply has its result; `ToolExecutionEnd` reports each result
    as soon as its call ends.
    """

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDiscarded(EventHeader):
    """A partially streamed reply is discarded, because the request failed and is sent again."""

    message_id: str
    """Id of the message."""
    reason: str
    """Error that caused the retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageUpdate(EventHeader):
    """Token usage after a reply."""

    usage: Usage
    """Usage of this reply."""
    total: Usage
    """Usage of the agent so far."""
    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAdded(EventHeader):
    """Usage that belongs to no reply in the history: a side question or an empty reply."""

    model: str
    """Name of the model."""
    usage: Usage
    """Tokens and cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWarning(EventHeader):
    """The context window is filled to 60, 80 or 95 percent."""

    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""
    level: Literal["advise", "warn", "critical"]
    """Severity: 60, 80 and 95 percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStart(EventHeader):
    """The context is about to be reduced; the history is unchanged."""

    reason: Literal["overflow", "window"]
    """`overflow` if the service rejected the request, `window` if the policy requires it."""
    tokens: int
    """Estimated length before, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnd(EventHeader):
    """The context was reduced."""

    reason: Literal["overflow", "window"]
    """See `CompactionStart`."""
    dropped: int
    """Number of messages left out of the context."""
    tokens: int
    """Estimated length after, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRejected(EventHeader):
    """A guardrail blocked a message."""

    reason: str
    """Reason given by the guardrail."""
    message_id: str = ""
    """Id of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan(EventHeader):
    """A hook changed the run or failed."""

    point: str
    """Name of the hook method."""
    outcome: Literal["stopped", "blocked", "modified", "injected", "failed"]
    """What it did."""
    reason: str = ""
    """Reason it gave, or the error."""
    call_id: str = ""
    """Tool call concerned; empty if none."""
    result: ToolResult | None = None
    """Result of a call that was blocked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentEvent(EventHeader):
    """An event of a subagent."""

    call_id: str
    """Tool call that started the subagent."""
    event: Event
    """The event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelStart(EventHeader):
    """A prompt is sent to several configurations."""

    run_ids: tuple[str, ...]
    """Ids of their runs, in order."""
    specs: tuple[ModelSpec, ...] = ()
    """Their models, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEvent(EventHeader):
    """An event of one of several parallel runs."""

    event: Event
    """The event; its header identifies the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelEnd(EventHeader):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSubmitted(EventHeader):
    """The model submitted a plan, and the user is asked to accept it."""

    plan: str
    """The plan, in Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged(EventHeader):
    """The agent switched between planning and executing."""

    mode: str
    """`plan` or `execute`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(EventHeader):
    """A limit of `Limits` was reached; the run takes no further turn."""

    limit: Literal["turns", "tokens", "seconds", "cost"]
    """Name of the limit."""
    message: str
    """Explanation for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(EventHeader):
    """A message for the user."""

    text: str
    """Text of the message."""
    level: Literal["info", "warning", "error"] = "info"
    """Severity."""


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
