"""Events of tool calls: approvals, questions, execution, hooks and background jobs."""

from __future__ import annotations

from typing import Literal

from harness.events.run import EventHeader
from harness.messages import ToolCall, ToolResult
from harness.user_requests import Answer, Question
from harness.views import View


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
    outcome: Literal["stopped", "blocked", "modified", "injected", "failed"]
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
