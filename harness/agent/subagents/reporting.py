"""Reports of a subagent to its parent: its events, and the result of the delegating call."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec.structs import replace

from harness.agent.identity import Identity
from harness.agent.run_state import AgentResult
from harness.events import (
    AgentStart,
    Event,
    MessageUpdate,
    SubagentEvent,
    ToolApprovalRequested,
    ToolExecutionStart,
    TurnStart,
)
from harness.jobs import Job
from harness.messages import AssistantMessage, JsonObject, Message, Text
from harness.ports.tool import SubagentTask, ToolOutput
from harness.publishing import Bus
from harness.truncation import truncate
from harness.views import TextView

STEPS_SHOWN = 10


class Relay:
    """Subscriber that publishes each event on the parent's bus and shows the latest steps to the user.

    Streamed deltas are left out unless `deltas` is set, because they would double the cost of every token.
    """

    def __init__(self, bus: Bus, delegation: SubagentTask, *, deltas: bool) -> None:
        self._bus = bus
        self._delegation = delegation
        self._left_out = () if deltas else (MessageUpdate,)
        self._turn = 0
        self._steps: deque[str] = deque(maxlen=STEPS_SHOWN)

    def __call__(self, event: Event) -> None:
        if isinstance(event, self._left_out):
            return
        self._bus.publish(SubagentEvent(call_id=self._delegation.call_id, event=event))
        match event:
            case AgentStart():
                self._show("started")
            case TurnStart():
                self._turn += 1
            case ToolApprovalRequested(call=call):
                self._show(f"turn {self._turn}: {call.name} needs approval")
            case ToolExecutionStart(label=label, summary=summary):
                self._show(f"turn {self._turn}: {label} {summary}".rstrip())
            case _:
                pass

    def _show(self, step: str) -> None:
        self._steps.append(step)
        self._delegation.update(TextView("\n".join(self._steps)))


def outcome(identity: Identity, result: AgentResult, who: str, limit: int, left: Sequence[Job] = ()) -> ToolOutput:
    """Return the output of the delegating call.

    Args:
        identity: Identity of the subagent.
        result: Result of its run.
        who: Its name for users.
        limit: Maximum length of its message in characters; 0 = unlimited.
        left: Its background jobs that continue.
    """
    problem = _problem(result)
    message = result.text.strip() or (_last_text(result.messages) if problem else "")
    text = clipped(message, limit)
    if problem:
        text = f"{who} did not finish: {problem}" + (f"\nIts last message:\n\n{text}" if text else "")
    text = text or f"{who} has finished without a message."
    details: JsonObject = {
        "session_id": identity.session_id,
        "run_id": identity.last_run_id,
        "stop_reason": result.stop_reason,
        "limit": result.limit,
        "turns": sum(isinstance(each, AssistantMessage) for each in result.messages),
        "tokens": result.usage.context,
    }
    if left:
        # A later process must know that they no longer run.
        names = ", ".join(f"{job.id} ({job.spec.title})" for job in left)
        text += f"\n\n[It left background jobs running: {names}. {left[0].owner.hint}]"
        details["jobs"] = [{"job_id": job.id, "call_id": job.spec.call_id} for job in left]
    return ToolOutput(
        content=(Text(text),),
        view=TextView(message or text, language="markdown") if message else None,
        details=details,
        is_error=bool(problem),
        child_run_id=identity.last_run_id,
    )


def stopped(identity: Identity, messages: Sequence[Message], who: str, limit: int) -> ToolOutput:
    """Return the output of a subagent that was interrupted: its last text so far."""
    last = clipped(_last_text(messages), limit)
    text = f"{who} was stopped. Its last message:\n\n{last}" if last else f"{who} was stopped before its first message."
    return replace(ToolOutput.text(text, view=TextView(last or text, "markdown")), child_run_id=identity.last_run_id)


def clipped(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters in the middle, with a note on how much is missing."""
    return truncate(
        text, limit, lambda missing: f"[clipped: {missing:,} of {len(text):,} characters are left out here]"
    )


def _problem(result: AgentResult) -> str:
    """Return the reason the subagent did not finish; empty if it did."""
    if result.error or result.stop_reason in ("error", "aborted"):
        return result.error or "the run failed"
    if result.limit:
        return result.stop_message
    return "its last reply reached the model's limit of tokens" if result.stop_reason == "length" else ""


def _last_text(messages: Sequence[Message]) -> str:
    replies = (each.text.strip() for each in reversed(messages) if isinstance(each, AssistantMessage))
    return next((text for text in replies if text), "")
