"""Think, act, repeat: the loop."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from harness.agent.guardrails import Reject, apply_guardrails
from harness.agent.model_call import call_model
from harness.agent.planning import planning_limit, skip_planning_without_tool
from harness.agent.polling import poll_follow_up, poll_steering
from harness.agent.run import Run, RunOutcome
from harness.agent.tool_calls import execute_tool_calls, skip_tool_calls
from harness.concurrency.cancellation import raise_if_cancelled
from harness.continuation import TurnTrigger
from harness.events import InputRejected, LimitReached, TurnEnd, TurnStart
from harness.lazy_dataclass import dataclass
from harness.messages import AssistantMessage, Message, Text, ToolResult, UserMessage
from harness.ports.hooks import Stop
from harness.publishing.bus import publish_message


@dataclass(frozen=True, slots=True)
class _Turn:
    reply: AssistantMessage
    results: tuple[ToolResult, ...] = ()
    ends_run: bool = False
    stop: Stop | None = None
    is_interrupted: bool = False


async def run_loop(run: Run) -> RunOutcome:
    """Take turns until the model has nothing more to do and nobody has anything more to say.

    Steering is taken before the next turn; follow-ups only when the run would otherwise end well. What is still queued
    when a run ends badly stays queued.
    """
    pending = admit_prompts(run, run.request.prompts)
    if isinstance(pending, Reject):
        return rejected(pending.reason)
    skip_planning_without_tool(run)
    if run.request.continuation is not None and not pending:
        pending = _next_messages(run, at_rest=True)
        if run.history.at_rest and not (pending or run.inbox.has_notices):
            return rejected(run.progress.rejection or "nothing is left to go on with")
    return await _take_turns(run, pending)


async def continue_after(run: Run, reply: AssistantMessage) -> RunOutcome:
    """Go on as after a turn that ended with this reply: with what was said meanwhile, until the agent rests."""
    pending = await _what_next(run, _Turn(reply))
    return pending if isinstance(pending, RunOutcome) else await _take_turns(run, pending)


async def _take_turns(run: Run, pending: tuple[Message, ...]) -> RunOutcome:
    with run.inbox.interruption.accepted():
        while True:
            pending = (*pending, *run.inbox.take_notices())
            try:
                stop = await _before_turn(run, pending)
                raise_if_cancelled()
            except asyncio.CancelledError:
                append_messages(run, pending)
                raise
            if stop is not None:
                append_messages(run, pending)
                return _stopped(stop)
            after = await _what_next(run, await _take_turn(run, pending))
            if isinstance(after, RunOutcome):
                return after
            pending = after
            run.inbox.interruption.withdraw()


async def _what_next(run: Run, turn: _Turn) -> tuple[Message, ...] | RunOutcome:
    """What is said at the next turn, or why there is none."""
    ending = await _ending(run, turn)
    if ending is not None:
        return ending
    pending = _next_messages(run, at_rest=not (turn.results or run.inbox.has_notices))
    if pending or turn.results or run.inbox.has_notices:
        return pending
    return RunOutcome(turn.reply.stop_reason, turn.reply.error)


def rejected(reason: str) -> RunOutcome:
    return RunOutcome("aborted", reason, rejection=reason)


def append_unsent_prompts(run: Run) -> None:
    """Keep in the history what a run was to hear, if it was stopped before it could."""
    heard = {message.id for message in run.history.since(run.start_index)}
    words = (_admitted(run, each) for each in run.request.prompts if each.id not in heard)
    append_messages(run, tuple(word for word in words if word is not None))


async def _before_turn(run: Run, pending: tuple[Message, ...]) -> Stop | None:
    if not run.hooks:
        return None
    return await run.hooks.before_turn((*run.history.messages, *pending), run.progress.turn + 1)


async def _take_turn(run: Run, messages: tuple[Message, ...]) -> _Turn:
    run.progress.turn += 1
    run.bus.turn += 1
    run.bus.publish(TurnStart(trigger=_trigger(run)))
    try:
        append_messages(run, messages)
        reply = await run.inbox.interruption.guard(call_model(run))
        turn = await _interrupted_turn(run) if reply is None else await _acted_turn(run, reply)
    except asyncio.CancelledError:
        await _end_aborted_turn(run)
        raise
    end = TurnEnd(message=turn.reply, results=turn.results)
    run.bus.publish(end)
    if not run.hooks:
        return turn
    return replace(turn, stop=await run.hooks.after_turn(end))


async def _acted_turn(run: Run, reply: AssistantMessage) -> _Turn:
    if not reply.tool_calls:
        return _Turn(reply)
    acted = await execute_tool_calls(run, reply)
    return _Turn(reply, acted.results, acted.ends_run)


async def _interrupted_turn(run: Run) -> _Turn:
    """The turn of a reply that the user interrupted: as far as it came, its calls not executed."""
    reply = run.history.last_reply()
    assert reply is not None
    if reply.tool_calls:
        await skip_tool_calls(run, reply)
    return _Turn(reply, _results_of(run, reply), is_interrupted=True)


async def _end_aborted_turn(run: Run) -> None:
    """The turn has its reply, however little was said, and each call of it its answer."""
    reply = run.history.last_reply()
    if reply is None:
        return
    try:
        if reply.tool_calls and not _results_of(run, reply):
            await skip_tool_calls(run, reply)
    finally:
        run.bus.publish(TurnEnd(message=reply, results=_results_of(run, reply)))


def _results_of(run: Run, reply: AssistantMessage) -> tuple[ToolResult, ...]:
    ids = {call.id for call in reply.tool_calls}
    return tuple(each for each in run.history if isinstance(each, ToolResult) and each.call_id in ids)


async def _ending(run: Run, turn: _Turn) -> RunOutcome | None:
    """Why the run ends after this turn; None when it goes on."""
    reply = turn.reply
    goes_on = turn.is_interrupted and bool(run.inbox.steering)
    if reply.stop_reason in ("error", "aborted") and not goes_on:
        return RunOutcome(reply.stop_reason, reply.error)
    if turn.stop is not None:
        return _stopped(turn.stop)
    if not turn.ends_run:
        await poll_steering(run)
        _ask_for_last_word(run, turn)
    if turn.ends_run or run.request.should_stop():
        return RunOutcome("stop")
    if not (turn.results or run.inbox):
        await poll_follow_up(run)
    if not (turn.results or run.inbox):
        return RunOutcome(reply.stop_reason, reply.error)
    limit = planning_limit(run) or _limit(run)
    if limit is None:
        return None
    run.bus.publish(limit)
    _append_message(run, UserMessage((Text(f"[Agent stopped: {limit.message}]"),), synthetic=True))
    return RunOutcome(reply.stop_reason, limit=limit.limit, stop_message=limit.message)


def _ask_for_last_word(run: Run, turn: _Turn) -> None:
    if turn.results or run.inbox.has_pending:
        return
    last_word = run.request.on_idle(turn.reply)
    if last_word is not None:
        run.inbox.reminders.put(last_word)


def _stopped(stop: Stop) -> RunOutcome:
    return RunOutcome("stop", limit="policy", stop_message=stop.reason or "stopped by a hook")


def _next_messages(run: Run, *, at_rest: bool) -> tuple[Message, ...]:
    """What is said before the next turn. Nothing that a filter keeps back is."""
    admitted: tuple[Message, ...] = ()
    while not admitted and (run.inbox.steering or (at_rest and run.inbox.follow_up)):
        words = run.inbox.steering.take() or run.inbox.follow_up.take()
        admitted = tuple(each for each in (_admitted(run, word) for word in words) if each is not None)
    return admitted


def _limit(run: Run) -> LimitReached | None:
    """The limit that forbids another turn, be it that of a run this one works for."""
    spent = (each.meter.spent() for each in run.ancestors[1:])
    return run.meter.exceeded() or next((limit for limit in spent if limit), None)


def _trigger(run: Run) -> TurnTrigger:
    if run.progress.turn > 1:
        return "continuation"
    if run.request.continuation is None:
        return run.request.trigger
    return "branch" if run.request.continuation.kind == "branch" else "continuation"


def admit_prompts(run: Run, prompts: tuple[Message, ...]) -> tuple[Message, ...] | Reject:
    """The prompts as the model is to hear them. One that is kept back keeps all back."""
    words: list[Message] = []
    for prompt in prompts:
        admitted = _admitted(run, prompt)
        if admitted is None:
            return Reject(run.progress.rejection)
        words.append(admitted)
    return tuple(words)


def _admitted(run: Run, message: Message) -> Message | None:
    if not run.options.guardrails or not isinstance(message, UserMessage) or message.synthetic:
        return message
    verdict = apply_guardrails(message, run.options.guardrails)
    if not isinstance(verdict, Reject):
        return verdict
    run.progress.rejection = verdict.reason
    run.bus.publish(InputRejected(reason=verdict.reason, message_id=message.id))
    return None


def append_messages(run: Run, messages: tuple[Message, ...]) -> None:
    """Take messages into the conversation, and tell of them."""
    for message in messages:
        _append_message(run, message)


def _append_message(run: Run, message: Message) -> None:
    run.history.append(message)
    publish_message(run.bus.publish, message)
