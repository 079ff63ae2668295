"""Events: one closed union of frozen structs, each serializable by `harness.codec`.

Order within a run (`[]` may repeat, `?` is optional):
AgentStart, [TurnStart, [MessageStart, MessageEnd of a user message], ModelRouted?, [Evicted, CompactionStart,
CompactionEnd, ContextTrimmed]?, RequestStart, MessageStart, [MessageUpdate], MessageEnd, UsageUpdate, ContextWarning?,
ToolCallsReceived?, [ToolApprovalRequested, ToolApprovalResolved]?, [ToolExecutionStart, [ToolExecutionUpdate],
ToolExecutionEnd], [MessageStart, MessageEnd of each tool result, in call order], TurnEnd], AgentEnd.

CompactionStart and CompactionEnd come in pairs, in a run and outside of one; for a changed summary, CompactionEnd comes
alone.

AgentEnd comes exactly once on every path; it comes alone if a hook stops the run before it begins. Every tool call gets
exactly one ToolExecutionStart and one ToolExecutionEnd, also if it was denied or invalid. A call blocked by a hook gets
neither; its result is in HookRan. Events are plain data: they contain no future and no callback.

The messages of all MessageEnd events, in order, are the history: each message that a run adds has exactly one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

from msgspec import field
from msgspec.structs import replace

from harness.events.calls import EventHeader as EventHeader
from harness.events.calls import HookRan as HookRan
from harness.events.calls import JobEnded as JobEnded
from harness.events.calls import JobInputRequested as JobInputRequested
from harness.events.calls import JobStarted as JobStarted
from harness.events.calls import MessageDiscarded as MessageDiscarded
from harness.events.calls import MessageEnd as MessageEnd
from harness.events.calls import MessageRole as MessageRole
from harness.events.calls import MessageStart as MessageStart
from harness.events.calls import MessageUpdate as MessageUpdate
from harness.events.calls import ModelChanged as ModelChanged
from harness.events.calls import ModelFallback as ModelFallback
from harness.events.calls import ModelRouted as ModelRouted
from harness.events.calls import QuestionAnswered as QuestionAnswered
from harness.events.calls import QuestionAsked as QuestionAsked
from harness.events.calls import RequestStart as RequestStart
from harness.events.calls import RetryScheduled as RetryScheduled
from harness.events.calls import ToolApprovalRequested as ToolApprovalRequested
from harness.events.calls import ToolApprovalResolved as ToolApprovalResolved
from harness.events.calls import ToolCacheHit as ToolCacheHit
from harness.events.calls import ToolCallsReceived as ToolCallsReceived
from harness.events.calls import ToolExecutionEnd as ToolExecutionEnd
from harness.events.calls import ToolExecutionStart as ToolExecutionStart
from harness.events.calls import ToolExecutionUpdate as ToolExecutionUpdate
from harness.events.calls import UsageAdded as UsageAdded
from harness.events.calls import UsageUpdate as UsageUpdate
from harness.events.context import CompactionEnd as CompactionEnd
from harness.events.context import CompactionStart as CompactionStart
from harness.events.context import CompactionTrigger as CompactionTrigger
from harness.events.context import CompactionUndone as CompactionUndone
from harness.events.context import ContextEdited as ContextEdited
from harness.events.context import ContextTrimmed as ContextTrimmed
from harness.events.context import ContextWarning as ContextWarning
from harness.events.context import Evicted as Evicted
from harness.events.context import HistoryReplaced as HistoryReplaced
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
from harness.structs import Tagged
from harness.user_requests import Choice

TurnTrigger: TypeAlias = Literal["user", "subagent", "continuation", "branch"]
"""Trigger of a turn: a prompt, a parent agent, the previous run, or another branch from an earlier message."""


class Continuation(Tagged, frozen=True):
    """Relation of a run without a prompt to the previous run."""

    kind: Literal["default", "rerun", "branch"] = "default"
    """Continue, repeat the last step, or take another branch."""
    tag: str = ""
    """Distinguishes continuations of the same kind; empty: the time of the request (RFC 3339, UTC)."""

    def tagged(self) -> Continuation:
        """Return a copy with a tag."""
        return replace(self, tag=self.tag or datetime.now(UTC).isoformat(timespec="milliseconds"))


class RunConfig(Tagged, frozen=True):
    """Configuration at the start of a run; the model is the `spec` of its `AgentStart`."""

    config_id: str = ""
    """Name of the configuration; empty if it has none."""
    max_tokens: int | None = None
    """Maximum length of a reply in tokens; None: the provider's default."""
    temperature: float | None = None
    """Sampling temperature; None: the provider's default."""
    context_window: int | None = None
    """Size of the context window in tokens; None if not yet known."""
    mode: str = ""
    """`plan` or `execute`."""
    approval: str = ""
    """Approval mode: `on`, `smart` or `off`."""
    tools: tuple[str, ...] = ()
    """Names of the tools offered to the model."""


class AgentStart(EventHeader, frozen=True, kw_only=True):
    """A run begins."""

    agent_id: str = ""
    """Id of the agent."""
    parent_run_id: str = ""
    """Run that this one continues or, for a subagent, the run that called it."""
    continuation: Continuation | None = None
    """Relation to the previous run; None if a prompt started it."""
    spec: ModelSpec | None = None
    """Model at the start of the run."""
    metadata: JsonObject = field(default_factory=dict[str, JsonValue])
    """Data the program passed with the prompt."""
    config: RunConfig | None = None
    """Configuration at the start of the run."""


class AgentEnd(EventHeader, frozen=True, kw_only=True):
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
    """Class name in `harness.errors`; empty if absent."""
    limit: str = ""
    """Limit that ended the run: `turns`, `tokens`, `seconds`, `cost`, or `policy`; empty if none."""
    stop_message: str = ""
    """Explanation of the limit."""
    rejection: str = ""
    """Reason a guardrail, or a hook before the run, kept the run from starting."""


class TurnStart(EventHeader, frozen=True, kw_only=True):
    """A turn begins. The new user messages follow, then the reply."""

    trigger: TurnTrigger = "user"
    """Trigger of the turn."""


class TurnEnd(EventHeader, frozen=True, kw_only=True):
    """A turn ended."""

    message: AssistantMessage
    """Reply of the model."""
    results: tuple[ToolResult, ...] = ()
    """Results of its tool calls, in call order."""


class InputRejected(EventHeader, frozen=True, kw_only=True):
    """A guardrail blocked a message."""

    reason: str
    """Reason given by the guardrail."""
    message_id: str = ""
    """Id of the message."""


class ModeChanged(EventHeader, frozen=True, kw_only=True):
    """The agent switched between planning and executing."""

    mode: str
    """`plan` or `execute`."""


class PlanSubmitted(EventHeader, frozen=True, kw_only=True):
    """The model submitted a plan, and the user is asked to accept it."""

    plan: str
    """The plan, in Markdown."""
    title: str = ""
    """Title of the plan; may be empty."""
    options: tuple[Choice, ...] = ()
    """Alternatives that the user is asked to choose from."""
    file: str = ""
    """Path of the file with the plan, which may be edited until it is accepted; empty if absent."""


class LimitReached(EventHeader, frozen=True, kw_only=True):
    """A limit of `Limits` was reached; the run takes no further turn."""

    limit: Literal["turns", "tokens", "seconds", "cost"]
    """Name of the limit."""
    message: str
    """Explanation for the user."""


class Notice(EventHeader, frozen=True, kw_only=True):
    """A message for the user."""

    text: str
    """Text of the message."""
    level: Literal["info", "warning", "error"] = "info"
    """Severity."""


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
    """Usage that no adopted reply carries: of the selection, the other runs, subagents and discarded replies."""
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
    | Evicted
    | CompactionStart
    | CompactionEnd
    | CompactionUndone
    | ContextTrimmed
    | ContextEdited
    | HistoryReplaced
    | RetryScheduled
    | ModelRouted
    | ModelFallback
    | InputRejected
    | HookRan
    | SubagentEvent
    | JobInputRequested
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
