"""Events of tool calls: approvals, questions, execution, hooks and background jobs."""

from __future__ import annotations

from typing import Literal

from harness.events.run import EventHeader
from harness.lazy_dataclass import dataclass
from harness.messages import (
    ToolCall,
    ToolResult,
)
from harness.user_requests import Answer, Question
from harness.views import View


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallsReceived(EventHeader):
    """A complete reply contains tool calls."""

    count: int
    """Number of tool calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalRequested(EventHeader):
    """A tool call needs approval."""

    call: ToolCall
    """The call."""
    reason: str
    """Reason approval is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolApprovalResolved(EventHeader):
    """An approval was decided."""

    call_id: str
    """Id of the call."""
    decision: Literal["once", "session", "always", "denied", "edited"]
    """The decision."""
    reason: str = ""
    """Reason for a denial."""
    non_interactive: bool = False
    """True if no user was available to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionStart(EventHeader):
    """A tool call begins."""

    call: ToolCall
    """The call."""
    label: str
    """Name of the tool for users."""
    summary: str
    """One line that identifies the call: the path, the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionUpdate(EventHeader):
    """Progress of a tool call; replaces the previous update."""

    call_id: str
    """Id of the call."""
    view: View
    """Progress to display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionEnd(EventHeader):
    """A tool call ended."""

    result: ToolResult
    """Its result."""
    duration: float = 0.0
    """Duration in seconds; 0 if the call never ran."""
    child_run_id: str = ""
    """Run id of the subagent it started; empty if none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCacheHit(EventHeader):
    """A tool call is answered from the cache. Published between its start and its end."""

    call_id: str
    """Id of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(EventHeader):
    """A tool asks the user a question."""

    call_id: str
    """Id of the call."""
    question: Question
    """The question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(EventHeader):
    """A question was answered."""

    call_id: str
    """Id of the call."""
    answer: Answer
    """The answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan(EventHeader):
    """A hook changed the run or failed."""

    point: str
    """Name of the hook method."""
    outcome: Literal["stopped", "blocked", "modified", "injected", "failed"]
    """Effect of the hook."""
    reason: str = ""
    """Reason it gave, or the error."""
    call_id: str = ""
    """Tool call concerned; empty if none."""
    result: ToolResult | None = None
    """Result of a call that was blocked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted(EventHeader):
    """A tool call continues as a background job, by decision of the model or the user."""

    job_id: str
    """Id of the job."""
    call_id: str
    """Id of the tool call that started it."""
    title: str
    """Description for the user, such as the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(EventHeader):
    """A background job ended, possibly while no run was active."""

    job_id: str
    """Id of the job."""
    state: Literal["running", "ended", "killed", "failed"]
    """Final state."""
    exit_code: int | None = None
    """Exit code; None if it was killed or failed."""
    duration: float = 0.0
    """Duration in seconds."""
