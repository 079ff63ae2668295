"""Events of model calls and tool calls, with the header of every event."""

from __future__ import annotations

from typing import Literal, TypeAlias

from harness.deltas import BlockDelta, BlockEnd, BlockKind, BlockStart
from harness.messages import Message, ModelSpec, ToolCall, ToolResult, Usage, UsageSource
from harness.structs import Tagged
from harness.user_requests import Answer, Question
from harness.views import View

MessageRole: TypeAlias = Literal["user", "assistant", "tool_result", "custom"]


class EventHeader(Tagged, frozen=True, kw_only=True):
    """Base class of events; the bus fills it in."""

    seq: int = 0
    """Sequence number, from 1 per agent."""
    time: float = 0.0
    """Seconds since the epoch."""
    session_id: str = ""
    """Session of the agent."""
    run_id: str = ""
    """Run that published the event; empty outside a run."""
    turn: int = 0
    """Turn of the run, from 1; 0 before the first."""


class RequestStart(EventHeader, frozen=True, kw_only=True):
    """A model call is about to be sent."""

    spec: ModelSpec
    """Model that is called."""
    message_count: int
    """Number of messages in the context."""
    tokens: int
    """Estimated length of the request in tokens."""


class MessageStart(EventHeader, frozen=True, kw_only=True):
    """A message begins; `MessageEnd` or, for a reply that is requested again, `MessageDiscarded` has the same id.

    Only replies are streamed between the two; a user message or tool result starts and ends at once.
    """

    message_id: str
    role: MessageRole


class MessageUpdate(EventHeader, frozen=True, kw_only=True):
    """Next piece of a streamed reply."""

    message_id: str
    """Id of the message."""
    delta: BlockStart | BlockDelta | BlockEnd
    """The piece; its `index` identifies the content block."""
    kind: BlockKind = "text"
    """Type of the content block."""


class MessageEnd(EventHeader, frozen=True, kw_only=True):
    """A message is complete and part of the history.

    Tool results end in call order, once every call of the reply has its result; `ToolExecutionEnd` reports each result
    as soon as its call ends.
    """

    message: Message


class MessageDiscarded(EventHeader, frozen=True, kw_only=True):
    """A partially streamed reply is discarded, because the request failed and is sent again."""

    message_id: str
    """Id of the message."""
    reason: str
    """Error that caused the retry."""


class UsageUpdate(EventHeader, frozen=True, kw_only=True):
    """Token usage after a reply."""

    usage: Usage
    """Usage of this reply."""
    total: Usage
    """Usage of the agent so far."""
    context: int
    """Tokens in the context window."""
    window: int
    """Size of the context window in tokens."""


class UsageAdded(EventHeader, frozen=True, kw_only=True):
    """Usage that belongs to no reply in the history, such as that of a side question or a discarded reply."""

    model: str
    """Name of the model."""
    usage: Usage
    """Tokens and cost."""
    source: UsageSource = ""
    """Use of the tokens."""


class RetryScheduled(EventHeader, frozen=True, kw_only=True):
    """A model call failed and will be retried."""

    attempt: int
    """Number of the retry, from 1."""
    max_retries: int
    """Maximum number of retries; 0 = unknown."""
    delay: float
    """Seconds until the retry."""
    error: str
    """Description of the error."""


class ModelRouted(EventHeader, frozen=True, kw_only=True):
    """Routing selected another model from this turn on."""

    spec: ModelSpec
    """The new model."""


class ModelFallback(EventHeader, frozen=True, kw_only=True):
    """A fallback model replaces a failed one for the rest of the run."""

    failed: ModelSpec
    """Model that failed."""
    spec: ModelSpec
    """Model used from now on."""
    error: str
    """Error of the failed model."""


class ModelChanged(EventHeader, frozen=True, kw_only=True):
    """The user or the program changed the model or the thinking level, effective from the next turn."""

    spec: ModelSpec
    """The new model."""


class ToolCallsReceived(EventHeader, frozen=True, kw_only=True):
    """A complete reply contains tool calls."""

    count: int
    """Number of tool calls."""


class ToolApprovalRequested(EventHeader, frozen=True, kw_only=True):
    """A tool call needs approval."""

    call: ToolCall
    """The call."""
    reason: str
    """Reason approval is needed."""


class ToolApprovalResolved(EventHeader, frozen=True, kw_only=True):
    """An approval was decided."""

    call_id: str
    """Id of the call."""
    decision: Literal["once", "session", "always", "denied", "edited"]
    """The decision."""
    reason: str = ""
    """Reason for a denial."""
    non_interactive: bool = False
    """True if no user was available to ask."""


class ToolExecutionStart(EventHeader, frozen=True, kw_only=True):
    """A tool call begins."""

    call: ToolCall
    """The call."""
    label: str
    """Name of the tool for users."""
    summary: str
    """One line that identifies the call: the path, the command."""


class ToolExecutionUpdate(EventHeader, frozen=True, kw_only=True):
    """Progress of a tool call; replaces the previous update."""

    call_id: str
    """Id of the call."""
    view: View
    """Progress to display."""


class ToolExecutionEnd(EventHeader, frozen=True, kw_only=True):
    """A tool call ended."""

    result: ToolResult
    """Its result."""
    duration: float = 0.0
    """Duration in seconds; 0 if the call never ran."""
    child_run_id: str = ""
    """Run id of the subagent it started; empty if none."""


class ToolCacheHit(EventHeader, frozen=True, kw_only=True):
    """A tool call is answered from the cache. Published between its start and its end."""

    call_id: str
    """Id of the call."""


class QuestionAsked(EventHeader, frozen=True, kw_only=True):
    """A tool asks the user a question."""

    call_id: str
    """Id of the call."""
    question: Question
    """The question."""


class QuestionAnswered(EventHeader, frozen=True, kw_only=True):
    """A question was answered."""

    call_id: str
    """Id of the call."""
    answer: Answer
    """The answer."""


class HookRan(EventHeader, frozen=True, kw_only=True):
    """A hook changed the run or failed."""

    point: str
    """Name of the hook method."""
    outcome: Literal["stopped", "blocked", "modified", "injected", "failed", "allowed", "asked"]
    """Effect of the hook."""
    reason: str = ""
    """Reason it gave, or the error."""
    call_id: str = ""
    """Tool call concerned; empty if none."""
    result: ToolResult | None = None
    """Result of a call that was blocked."""


class JobStarted(EventHeader, frozen=True, kw_only=True):
    """A tool call continues as a background job, by decision of the model or the user."""

    job_id: str
    """Id of the job."""
    call_id: str
    """Id of the tool call that started it."""
    title: str
    """Description for the user, such as the command."""


class JobInputRequested(EventHeader, frozen=True, kw_only=True):
    """A background job waits for input that is not echoed, such as a password; only the user may type it."""

    job_id: str
    """Id of the job."""
    title: str
    """Description for the user, such as the command."""
    prompt: str
    """Last line of its output."""


class JobEnded(EventHeader, frozen=True, kw_only=True):
    """A background job ended, possibly while no run was active."""

    job_id: str
    """Id of the job."""
    state: Literal["running", "ended", "killed", "failed"]
    """Final state."""
    exit_code: int | None = None
    """Exit code; None if it was killed or failed."""
    duration: float = 0.0
    """Duration in seconds."""
