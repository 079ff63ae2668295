"""Common helpers for tests of agent runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from harness.agent.agent import Agent
from harness.events import Event, HookRan, ToolExecutionEnd, ToolExecutionStart
from harness.messages import ToolResult, UserMessage
from providers.demo import Call, Reply


def calls(*names: str, **arguments: str) -> Reply:
    """Return a reply that calls these tools, each with these arguments."""
    return Reply(tuple(Call(name, dict(arguments)) for name in names))


def results_of(agent: Agent) -> list[ToolResult]:
    return [message for message in agent.history if isinstance(message, ToolResult)]


def texts_of(agent: Agent) -> list[str]:
    """Return the texts the agent received, in order."""
    return [message.text for message in agent.history if isinstance(message, UserMessage)]


def steer_now(agent: Agent, text: str) -> None:
    """Send a steering message and interrupt the turn for it."""
    agent.steer(text)
    agent.interrupt()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


def deeds(events: Iterable[Event]) -> list[str]:
    """Return the events of calls, in order, with the tool name."""
    names: dict[str, str] = {}
    done: list[str] = []
    for event in events:
        kind = type(event).__name__
        match event:
            case ToolExecutionStart(call=call):
                names[call.id] = call.name
                done.append(f"start {call.name}")
            case ToolExecutionEnd(result=result):
                done.append(f"{'fail' if result.is_error else 'end'} {result.tool_name}")
            case HookRan(outcome=outcome, result=result):
                done.append(f"{outcome} {result.tool_name}" if result else outcome)
            case _ if kind in _SHORT:
                done.append(f"{_SHORT[kind]} {names.get(getattr(event, 'call_id', ''), '')}".strip())
            case _:
                pass
    return done


_SHORT = {
    "ToolExecutionUpdate": "update",
    "ToolCacheHit": "hit",
    "QuestionAsked": "ask",
    "QuestionAnswered": "answer",
    "ToolApprovalRequested": "request",
    "ToolApprovalResolved": "resolve",
}
