"""What a sub-agent hands back: its last words, cut to their room, and how it went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.agent.identity import Identity
from harness.agent.result import AgentResult
from harness.execution.spill import HEAD, at_line_ends
from harness.jobs import BACKGROUND_HINT, Job
from harness.messages import AssistantMessage, JsonObject, Message, Text
from harness.ports.tool import ToolOutput
from harness.views import TextView


def outcome(identity: Identity, result: AgentResult, who: str, limit: int, left: Sequence[Job] = ()) -> ToolOutput:
    """The result of the call that started it; `limit` characters of what it said at most, 0 for all. `left` are its
    jobs that go on without it."""
    problem = _problem(result)
    said = result.text.strip() or (_last_text(result.messages) if problem else "")
    told = clipped(said, limit)
    if problem:
        told = f"{who} did not finish: {problem}" + (f"\nWhat it said last:\n\n{told}" if told else "")
    told = told or f"{who} has finished without a word about it."
    return ToolOutput(
        content=(Text(f"{told}{_word_of_jobs(left)}"),),
        view=TextView(said or told, language="markdown") if said else None,
        details={**_details(identity, result), **_jobs(left)},
        is_error=bool(problem),
        child_run_id=identity.last_run_id,
    )


def stopped(identity: Identity, messages: Sequence[Message], who: str, limit: int) -> ToolOutput:
    """The output of a sub-agent that is interrupted: its last text so far."""
    last = clipped(_last_text(messages), limit)
    text = f"{who} was stopped. Its last message:\n\n{last}" if last else f"{who} was stopped before its first message."
    return replace(ToolOutput.text(text, view=TextView(last or text, "markdown")), child_run_id=identity.last_run_id)


def clipped(text: str, limit: int) -> str:
    """The head and tail of what is longer than `limit` characters, and how much is missing between them."""
    if limit <= 0 or len(text) <= limit:
        return text
    room = int(limit * HEAD)
    head, tail = at_line_ends(text[:room], text[len(text) - (limit - room) :])
    missing = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[clipped: {missing:,} of {len(text):,} characters are left out here]\n{tail}"


def _problem(result: AgentResult) -> str:
    """Why it ended before its time; empty when it did not."""
    if result.error or result.stop_reason in ("error", "aborted"):
        return result.error or "the run failed"
    if result.limit:
        return result.stop_message
    return "its last reply reached the model's limit of tokens" if result.stop_reason == "length" else ""


def _last_text(messages: Sequence[Message]) -> str:
    replies = (each.text.strip() for each in reversed(messages) if isinstance(each, AssistantMessage))
    return next((text for text in replies if text), "")


def _details(identity: Identity, result: AgentResult) -> JsonObject:
    turns = sum(isinstance(each, AssistantMessage) for each in result.messages)
    return {
        "session_id": identity.session_id,
        "run_id": identity.last_run_id,
        "stop_reason": result.stop_reason,
        "limit": result.limit,
        "turns": turns,
        "tokens": result.usage.context,
    }


def _word_of_jobs(left: Sequence[Job]) -> str:
    names = ", ".join(f"{job.id} ({job.spec.title})" for job in left)
    return f"\n\n[It left in the background: {names}. {BACKGROUND_HINT}]" if left else ""


def _jobs(left: Sequence[Job]) -> JsonObject:
    """What is left, so that a later process knows that it is not there any more."""
    return {"jobs": [{"job_id": job.id, "call_id": job.spec.call_id} for job in left]} if left else {}
