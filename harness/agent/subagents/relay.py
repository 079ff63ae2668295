"""Relay of a subagent's events to its parent."""

from __future__ import annotations

from collections import deque

from harness.events import (
    AgentStart,
    Event,
    MessageUpdate,
    SubagentEvent,
    ToolApprovalRequested,
    ToolExecutionStart,
    TurnStart,
)
from harness.ports.tool import SubagentTask
from harness.publishing.bus import Bus
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
