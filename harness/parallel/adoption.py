"""Adoption of the selected run: its events and messages become those of the agent."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from harness.agent.run_state import Run
from harness.events import (
    CompactionEnd,
    CompactionStart,
    ContextTrimmed,
    ContextWarning,
    Event,
    Evicted,
    HookRan,
    LimitReached,
    MessageEnd,
    MessageStart,
    ToolCacheHit,
    ToolCallsReceived,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnEnd,
    TurnStart,
    UsageUpdate,
)
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, UserMessage
from harness.parallel.selection import Outcome

ADOPTED = (
    TurnStart,
    MessageStart,
    MessageEnd,
    UsageUpdate,
    ContextWarning,
    Evicted,
    CompactionStart,
    CompactionEnd,
    ContextTrimmed,
    ToolCallsReceived,
    ToolExecutionStart,
    ToolCacheHit,
    ToolExecutionEnd,
    HookRan,
    LimitReached,
    TurnEnd,
)
"""Events of the selected run that the agent publishes as its own: its messages and calls, not deltas or approvals."""


def adopt(run: Run, outcome: Outcome, facts: Sequence[Event]) -> None:
    """Add the messages of the selected run to the agent, and publish its events in order."""
    existing = {message.id for message in run.history}
    added = {message.id: message for message in outcome.added if message.id not in existing}
    for fact in facts:
        match fact:
            case MessageStart(message_id=message_id) if message_id not in added:
                continue
            case MessageEnd(message=message) if message.id not in added:
                continue
            case MessageEnd(message=AssistantMessage() as reply):
                _take_over(run, added, reply)
            case MessageEnd(message=UserMessage() | CustomMessage() as message):
                run.history.append(message)
            case UsageUpdate():
                fact = replace(fact, total=run.state.usage)
            case TurnStart():
                run.progress.turn += 1
                run.meter.turns += 1
                run.bus.turn += 1
            case _:
                pass
        run.bus.publish(fact)


def _take_over(run: Run, added: dict[str, Message], reply: AssistantMessage) -> None:
    """Append a reply and the results of its calls, in call order."""
    run.history.append(reply)
    calls = {call.id for call in reply.tool_calls}
    for message in added.values():
        if isinstance(message, ToolResult) and message.call_id in calls:
            run.history.append(message)
