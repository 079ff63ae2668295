"""Subagents of a session and their last steps, collected from events."""

from __future__ import annotations

import time
from collections import deque
from typing import Literal, TypeAlias

from msgspec import Struct, field

from cinch_tui.rendering.safe_text import error_line
from harness import events
from harness.messages import AssistantMessage, Message, UserMessage

MAX_AGENTS = 40
MAX_STEPS = 400
"""Steps kept of each subagent."""
MAX_MESSAGE_CHARS = 4_000

SubagentState: TypeAlias = Literal["running", "done", "failed", "stopped"]
_ENDS: dict[str, SubagentState] = {"error": "failed", "aborted": "stopped"}


class Subagent(Struct):
    """A subagent, running or finished."""

    session_id: str
    call_id: str
    """Tool call that started it."""
    caller: str
    """Session id of the agent that made this call."""
    name: str
    depth: int
    """0 for a subagent of the session's own agent."""
    state: SubagentState = "running"
    turns: int = 0
    tokens: int = 0
    doing: str = ""
    """Tool call in progress; empty for none."""
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    """Monotonic time of its end; 0 while it runs."""
    steps: deque[str] = field(default_factory=lambda: deque[str](maxlen=MAX_STEPS))

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    @property
    def story(self) -> str:
        """Its task, steps and replies."""
        return "\n".join(self.steps)


class Subagents:
    """The newest subagents, each with its last steps; subscribe `receive` to the agent's bus."""

    def __init__(self) -> None:
        self._agents: dict[str, Subagent] = {}
        self._named: dict[tuple[str, str], str] = {}

    @property
    def newest_first(self) -> list[Subagent]:
        """All subagents, each above its own subagents."""
        return [agent for root in reversed(self._roots) for agent in (root, *self._below(root))]

    def find(self, session_id: str) -> Subagent | None:
        return self._agents.get(session_id)

    def clear(self) -> None:
        self._agents.clear()
        self._named.clear()

    def receive(self, event: events.Event, depth: int = 0) -> None:
        match event:
            case events.ToolExecutionStart(call=call, summary=summary):
                self._named[event.session_id, call.id] = summary
            case events.ToolExecutionEnd(result=result):
                self._named.pop((event.session_id, result.call_id), None)
            case events.SubagentEvent(call_id=call_id, event=inner):
                agent = self._agents.get(inner.session_id)
                if agent is None:
                    name = self._named.get((event.session_id, call_id), "") or "Subagent"
                    agent = self._agents[inner.session_id] = Subagent(
                        inner.session_id, call_id, event.session_id, name, depth
                    )
                    self._forget_old()
                _note(agent, inner)
                self.receive(inner, depth + 1)
            case _:
                pass

    @property
    def _roots(self) -> list[Subagent]:
        return [agent for agent in self._agents.values() if agent.caller not in self._agents]

    def _below(self, agent: Subagent) -> list[Subagent]:
        children = [each for each in self._agents.values() if each.caller == agent.session_id]
        return [each for child in children for each in (child, *self._below(child))]

    def _forget_old(self) -> None:
        over = [session for session, agent in self._agents.items() if agent.state != "running"]
        for session in over[: max(0, len(self._agents) - MAX_AGENTS)]:
            del self._agents[session]


def _note(agent: Subagent, event: events.Event) -> None:
    match event:
        case events.TurnStart():
            agent.turns += 1
        case events.UsageUpdate(total=total):
            agent.tokens = total.context
        case events.ToolExecutionStart(label=label, summary=summary):
            agent.doing = f"{label} {summary}".strip()
            agent.steps.append(f"● {agent.doing}")
        case events.ToolExecutionEnd(result=result):
            agent.doing = ""
            agent.steps.append(f"  {'✗' if result.is_error else '✓'} {error_line(result.text)[:200]}")
        case events.MessageEnd(message=message):
            agent.steps.extend(_message_lines(message))
        case events.AgentEnd(stop_reason=reason, error=error, stop_message=stopped):
            agent.state = _ENDS.get(reason, "done")
            agent.ended = time.monotonic()
            agent.doing = ""
            agent.steps.extend(f"✗ {why}" for why in (error, stopped) if why)
        case _:
            pass


def _message_lines(message: Message) -> list[str]:
    text = message.text.strip()[:MAX_MESSAGE_CHARS] if isinstance(message, UserMessage | AssistantMessage) else ""
    mark = "> " if isinstance(message, UserMessage) else ""
    return ["", *(f"{mark}{line}" for line in text.splitlines()), ""] if text else []
