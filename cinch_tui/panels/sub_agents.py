"""What is known of the sub-agents of a session, as their events tell it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import field
from typing import Literal, TypeAlias

from harness.events import (
    AgentEnd,
    Event,
    MessageEnd,
    SubagentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    TurnStart,
    UsageUpdate,
)
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, Message, UserMessage

MOST = 40
STEPS = 400
SAID_CHARS = 4_000

SubAgentState: TypeAlias = Literal["running", "done", "failed", "stopped"]
_ENDS: dict[str, SubAgentState] = {"error": "failed", "aborted": "stopped"}


@dataclass(slots=True)
class SubAgent:
    """`call_id` is the call that began it, made by the agent of the session `caller`; `doing` is the call it is at."""

    session_id: str
    call_id: str
    caller: str
    name: str
    depth: int
    state: SubAgentState = "running"
    turns: int = 0
    tokens: int = 0
    doing: str = ""
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    steps: deque[str] = field(default_factory=lambda: deque[str](maxlen=STEPS))

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    @property
    def story(self) -> str:
        """What it was told, did and said."""
        return "\n".join(self.steps)


class SubAgents:
    """Hears of all events; keeps the newest sub-agents, each with its last steps."""

    def __init__(self) -> None:
        self._agents: dict[str, SubAgent] = {}
        self._named: dict[tuple[str, str], str] = {}

    @property
    def newest_first(self) -> list[SubAgent]:
        """Each above those that work for it."""
        return [agent for root in reversed(self._roots) for agent in (root, *self._below(root))]

    def find(self, session_id: str) -> SubAgent | None:
        return self._agents.get(session_id)

    def clear(self) -> None:
        self._agents.clear()
        self._named.clear()

    def hear(self, event: Event, depth: int = 0) -> None:
        match event:
            case ToolExecutionStart(call=call, summary=summary):
                self._named[event.session_id, call.id] = summary
            case ToolExecutionEnd(result=result):
                self._named.pop((event.session_id, result.call_id), None)
            case SubagentEvent(call_id=call_id, event=inner):
                agent = self._agents.get(inner.session_id)
                if agent is None:
                    name = self._named.get((event.session_id, call_id), "") or "Sub-agent"
                    agent = self._agents[inner.session_id] = SubAgent(
                        inner.session_id, call_id, event.session_id, name, depth
                    )
                    self._forget_old()
                _note(agent, inner)
                self.hear(inner, depth + 1)
            case _:
                pass

    @property
    def _roots(self) -> list[SubAgent]:
        return [agent for agent in self._agents.values() if agent.caller not in self._agents]

    def _below(self, agent: SubAgent) -> list[SubAgent]:
        children = [each for each in self._agents.values() if each.caller == agent.session_id]
        return [each for child in children for each in (child, *self._below(child))]

    def _forget_old(self) -> None:
        over = [session for session, agent in self._agents.items() if agent.state != "running"]
        for session in over[: max(0, len(self._agents) - MOST)]:
            del self._agents[session]


def _note(agent: SubAgent, event: Event) -> None:
    match event:
        case TurnStart():
            agent.turns += 1
        case UsageUpdate(total=total):
            agent.tokens = total.context
        case ToolExecutionStart(label=label, summary=summary):
            agent.doing = f"{label} {summary}".strip()
            agent.steps.append(f"● {agent.doing}")
        case ToolExecutionEnd(result=result):
            agent.doing = ""
            first = result.text.strip().partition("\n")[0]
            agent.steps.append(f"  {'✗' if result.is_error else '✓'} {first[:200]}")
        case MessageEnd(message=message):
            agent.steps.extend(_said(message))
        case AgentEnd(stop_reason=reason, error=error, stop_message=stopped):
            agent.state = _ENDS.get(reason, "done")
            agent.ended = time.monotonic()
            agent.doing = ""
            agent.steps.extend(f"✗ {why}" for why in (error, stopped) if why)
        case _:
            pass


def _said(message: Message) -> list[str]:
    text = message.text.strip()[:SAID_CHARS] if isinstance(message, UserMessage | AssistantMessage) else ""
    mark = "> " if isinstance(message, UserMessage) else ""
    return ["", *(f"{mark}{line}" for line in text.splitlines()), ""] if text else []
