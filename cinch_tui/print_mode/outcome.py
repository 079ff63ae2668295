"""Outcome of a run in print mode: statistics, the JSON result and the exit status."""

from __future__ import annotations

import time
from enum import IntEnum

from msgspec import Struct, field

from cinch_tui.reports.formatting import app_hints
from harness import events
from harness.agent.run_state import AgentResult
from harness.messages import AssistantMessage, Citation, JsonObject, JsonValue, Text, ToolCall, Usage
from harness.session.records import STOP_REASONS, usage_facts

# Limits with a subtype in Claude Code's format; the others are reported as errors.
LIMIT_SUBTYPES = {"turns": "error_max_turns", "cost": "error_max_budget_usd"}


class ExitStatus(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    LIMIT = 3
    APPROVAL_NEEDED = 4
    INTERRUPTED = 130


class RunStats(Struct):
    """Event subscriber that collects the statistics of a run."""

    turns: int = 0
    api_seconds: float = 0.0
    plan: str = ""
    unapproved: list[ToolCall] = []
    started: float = field(default_factory=time.monotonic)
    _asked_about: dict[str, ToolCall] = {}
    _request_began: float | None = None

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.TurnEnd():
                self.turns += 1
            case events.RequestStart():
                self._request_began = time.monotonic()
            case events.MessageEnd(message=AssistantMessage()) | events.RetryScheduled() | events.AgentEnd():
                self._end_request()
            case events.PlanSubmitted(plan=plan):
                self.plan = plan
            case events.ToolApprovalRequested(call=call):
                self._asked_about[call.id] = call
            case events.ToolApprovalResolved(call_id=call_id, non_interactive=True):
                self.unapproved.append(self._asked_about[call_id])
            case events.SubagentEvent(
                event=events.ToolApprovalRequested() | events.ToolApprovalResolved() | events.SubagentEvent() as inner
            ):
                self(inner)
            case _:
                pass

    def _end_request(self) -> None:
        if self._request_began is not None:
            self.api_seconds += time.monotonic() - self._request_began
            self._request_began = None


class Outcome(Struct, frozen=True):
    result: AgentResult
    stats: RunStats
    session_id: str
    model: str

    @property
    def text(self) -> str:
        """The answer; in plan mode, the plan and the text after it."""
        return "\n\n".join(filter(None, (self.stats.plan.strip(), self.result.text)))

    @property
    def reply(self) -> AssistantMessage | None:
        """The message with the answer."""
        replies = (each for each in reversed(self.result.messages) if isinstance(each, AssistantMessage) and each.text)
        found = next(replies, None)
        return found if found and found.text == self.result.text else None

    @property
    def failed(self) -> bool:
        return self.result.stop_reason in ("error", "aborted")

    @property
    def status(self) -> ExitStatus:
        if self.result.stop_reason == "aborted":
            return ExitStatus.INTERRUPTED
        if self.result.limit:
            return ExitStatus.LIMIT
        if self.failed:
            return ExitStatus.FAILED
        return ExitStatus.APPROVAL_NEEDED if self.stats.unapproved else ExitStatus.DONE

    @property
    def problem(self) -> str:
        """The error or limit that ended the run, for the user; empty after success."""
        match self.status:
            case ExitStatus.INTERRUPTED:
                return "interrupted"
            case ExitStatus.LIMIT:
                return self.result.stop_message or f"limit reached: {self.result.limit}"
            case ExitStatus.FAILED:
                return app_hints(self.result.error or "the run failed")
            case ExitStatus.APPROVAL_NEEDED:
                names = sorted({call.name for call in self.stats.unapproved})
                subject = f"{', '.join(names)} {'needs' if len(names) == 1 else 'need'}"
                return f"{subject} approval, but print mode cannot ask; allow it with --allow TOOL or --approve off"
            case _ if self.result.stop_reason == "length":
                return "the answer was truncated at the maximum reply length; see model.max_tokens"
            case _:
                return ""


def result_object(outcome: Outcome) -> JsonObject:
    """Return the outcome in the format of Claude Code's print mode; an unknown cost is null."""
    usage = outcome.result.usage
    denials: list[JsonValue] = [
        {"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.arguments}
        for call in outcome.stats.unapproved
    ]
    record: JsonObject = {
        "type": "result",
        "subtype": _subtype(outcome),
        "is_error": outcome.status not in (ExitStatus.DONE, ExitStatus.APPROVAL_NEEDED),
        "duration_ms": round((time.monotonic() - outcome.stats.started) * 1000),
        "duration_api_ms": round(outcome.stats.api_seconds * 1000),
        "num_turns": outcome.stats.turns,
        "result": outcome.text,
        "stop_reason": STOP_REASONS.get(outcome.result.stop_reason),
        "session_id": outcome.session_id,
        "total_cost_usd": usage.cost.total if usage.cost else None,
        "usage": usage_facts(usage),
        "modelUsage": {outcome.model: _model_usage(usage)},
        "permission_denials": denials,
    }
    if outcome.reply and (citations := citations_of(outcome.reply)):
        record["citations"] = citations
    if outcome.status not in (ExitStatus.DONE, ExitStatus.APPROVAL_NEEDED):
        record["errors"] = [outcome.problem]
    return record


def citations_of(reply: AssistantMessage) -> list[JsonValue]:
    """Return the citations of a reply; offsets refer to its whole text."""
    found: list[JsonValue] = []
    length = 0
    for block in reply.content:
        if isinstance(block, Text):
            found.extend(_citation(each, length) for each in block.citations)
            length += len(block.text)
    return found


def _citation(citation: Citation, before: int) -> JsonObject:
    named: JsonObject = {"url": citation.url, "title": citation.title, "quote": citation.quote}
    if citation.start is None or citation.end is None:
        return named
    return {**named, "start": citation.start + before, "end": citation.end + before}


def _subtype(outcome: Outcome) -> str:
    if outcome.result.limit:
        return LIMIT_SUBTYPES.get(outcome.result.limit, "error_during_execution")
    return "error_during_execution" if outcome.failed else "success"


def _model_usage(usage: Usage) -> JsonObject:
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write,
        "webSearchRequests": usage.searches,
        "costUSD": usage.cost.total if usage.cost else None,
    }
