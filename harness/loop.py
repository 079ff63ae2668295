"""Think, act, repeat: the loop."""

from __future__ import annotations

from dataclasses import dataclass

from harness.act import act
from harness.events import LimitReached, MessageEnd, MessageStart, TurnEnd, TurnStart
from harness.messages import AssistantMessage, StopReason, Text, ToolResult, UserMessage
from harness.run import Run
from harness.think import think


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended."""

    stop_reason: StopReason
    error: str | None = None
    limit: str = ""


async def run_loop(run: Run, prompts: tuple[UserMessage, ...]) -> Ending:
    """Take turns until the model has nothing more to do and nobody has anything more to say.

    Steering is taken before the next turn; follow-ups only when the run would otherwise end well. What is still queued
    when a run ends badly stays queued.
    """
    pending = prompts
    while True:
        reply, results = await _take_turn(run, pending)
        if reply.stop_reason == "error":
            return Ending("error", reply.error)
        if not (results or run.inbox.steering or run.inbox.follow_up):
            return Ending(reply.stop_reason, reply.error)
        limit = await _limit(run)
        if limit:
            _stop_at(run, limit)
            return Ending(reply.stop_reason, limit.message, limit.limit)
        pending = run.inbox.steering.take()
        if not results and not pending:
            pending = run.inbox.follow_up.take()


async def _limit(run: Run) -> LimitReached | None:
    """The limit that forbids another turn. A limit on cost waits until prices are known."""
    if run.meter.limits.max_cost:
        model = run.state.model
        run.meter.ledger.settle(model.spec.name, (await model.facts.load()).price)
    return run.meter.exceeded()


async def _take_turn(run: Run, messages: tuple[UserMessage, ...]) -> tuple[AssistantMessage, tuple[ToolResult, ...]]:
    run.bus.turn += 1
    run.bus.publish(TurnStart())
    for message in messages:
        _hear(run, message)
    reply = await think(run)
    results = await act(run, reply) if reply.tool_calls else ()
    run.bus.publish(TurnEnd(message=reply, results=results))
    return reply, results


def _hear(run: Run, message: UserMessage) -> None:
    run.history.append(message)
    run.bus.publish(MessageStart(message_id=message.id, role="user"))
    run.bus.publish(MessageEnd(message=message))


def hear_unheard(run: Run, messages: tuple[UserMessage, ...]) -> None:
    """Keep in the history what a run was to hear, if it was stopped before it could."""
    for message in messages:
        if not any(each is message for each in reversed(run.history.messages)):
            _hear(run, message)


def _stop_at(run: Run, limit: LimitReached) -> None:
    run.bus.publish(limit)
    _hear(run, UserMessage((Text(f"[Agent stopped: {limit.message}]"),), synthetic=True))
