"""Agent loop: model call, tool calls, repeat."""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.guardrails import Reject, apply_guardrails
from harness.agent.model_call import call_model
from harness.agent.planning import planning_limit, skip_planning_without_tool
from harness.agent.polling import poll_follow_up, poll_steering
from harness.agent.reminders import collect_reminders, remind_of_context, remind_of_mode, remind_of_tools
from harness.agent.run_state import Run
from harness.agent.tool_calls import execute_tool_calls, skip_tool_calls
from harness.concurrency import raise_if_cancelled
from harness.events import AgentEnd, InputRejected, LimitReached, TurnEnd, TurnStart, TurnTrigger
from harness.inbox import Queue
from harness.messages import AssistantMessage, Message, ToolResult, UserMessage, synthetic
from harness.ports.hooks import Stop
from harness.publishing import publish_message


class _Turn(Struct, frozen=True):
    reply: AssistantMessage
    results: tuple[ToolResult, ...] = ()
    terminate: bool = False
    stop: Stop | None = None
    is_interrupted: bool = False

    @property
    def continues(self) -> bool:
        """Return True if another model call follows even without a message."""
        return bool(self.results) or self.reply.stop_reason == "pause"


async def run_loop(run: Run) -> AgentEnd:
    """Take turns until the model has no more tool calls and no message is queued, and return the reason for the end.

    Steering messages are taken before each turn, follow-ups only when the run would otherwise end successfully. After
    an error or abort, messages stay queued.
    """
    pending = await admit_prompts(run, run.request.prompts)
    if isinstance(pending, Reject):
        return rejected(pending.reason)
    skip_planning_without_tool(run)
    await collect_reminders(run)
    if run.request.continuation is not None and not pending:
        pending = await _next_messages(run, at_rest=True)
        if run.history.at_rest and not (pending or run.inbox.has_notices):
            return rejected(run.progress.rejection or "there is nothing to continue with")
    return await _take_turns(run, pending)


async def continue_after(run: Run, reply: AssistantMessage) -> AgentEnd:
    """Continue as after a turn with this reply, with the messages that were queued meanwhile."""
    pending = await _next_step(run, _Turn(reply))
    return pending if isinstance(pending, AgentEnd) else await _take_turns(run, pending)


async def _take_turns(run: Run, pending: tuple[Message, ...]) -> AgentEnd:
    with run.inbox.interruption.accepted():
        while True:
            remind_of_mode(run)
            remind_of_tools(run)
            remind_of_context(run)
            pending = (*pending, *run.inbox.take_notices())
            try:
                stop = await run.hooks.before_turn((*run.history.messages, *pending), run.progress.turn + 1)
                raise_if_cancelled()
            except asyncio.CancelledError:
                append_messages(run, pending)
                raise
            if stop is not None:
                append_messages(run, pending)
                return _stopped(stop)
            # What a hook adds before a turn is part of it.
            pending = (*pending, *run.inbox.take_notices())
            after = await _next_step(run, await _take_turn(run, pending))
            if isinstance(after, AgentEnd):
                return after
            pending = after
            run.inbox.interruption.withdraw()


async def _next_step(run: Run, turn: _Turn) -> tuple[Message, ...] | AgentEnd:
    """Return the messages of the next turn, or the end of the run."""
    ending = await _ending(run, turn)
    if ending is not None:
        return ending
    pending = await _next_messages(run, at_rest=not (turn.continues or run.inbox.has_notices))
    if pending or turn.continues or run.inbox.has_notices:
        return pending
    return AgentEnd(stop_reason=turn.reply.stop_reason, error=turn.reply.error)


def rejected(reason: str) -> AgentEnd:
    """Return the end of a run that leaves nothing in the history."""
    return AgentEnd(stop_reason="aborted", error=reason, rejection=reason)


def append_unsent_prompts(run: Run) -> None:
    """Add the prompts of a run to the history if it was stopped before that.

    Those that guardrails had not checked yet are rejected, since the next request would contain them.
    """
    appended = {message.id for message in run.history.since(run.start_index)}
    for prompt in run.request.prompts:
        if prompt.id not in appended and prompt.id not in run.progress.rejected:
            if not _is_checked(run, prompt):
                append_messages(run, (prompt,))
            elif prompt.id in run.progress.admitted:
                append_messages(run, (run.progress.admitted[prompt.id],))
            else:
                _reject(run, prompt, "the run was stopped before the message was checked")


async def _take_turn(run: Run, messages: tuple[Message, ...]) -> _Turn:
    run.progress.turn += 1
    run.bus.turn += 1
    run.bus.publish(TurnStart(trigger=_trigger(run)))
    try:
        append_messages(run, messages)
        reply = await run.inbox.interruption.guard(call_model(run))
        turn = await _interrupted_turn(run) if reply is None else await _execute_calls(run, reply)
    except asyncio.CancelledError:
        await _end_aborted_turn(run)
        raise
    end = TurnEnd(message=turn.reply, results=turn.results)
    run.bus.publish(end)
    return replace(turn, stop=await run.hooks.after_turn(end))


async def _execute_calls(run: Run, reply: AssistantMessage) -> _Turn:
    if not reply.tool_calls:
        return _Turn(reply)
    executed = await execute_tool_calls(run, reply)
    return _Turn(reply, executed.results, executed.terminate)


async def _interrupted_turn(run: Run) -> _Turn:
    """Return the turn of a reply that the user interrupted: partial, its calls skipped."""
    reply = run.history.last_reply()
    assert reply is not None
    if reply.tool_calls:
        await skip_tool_calls(run, reply)
    return _Turn(reply, _results_of(run, reply), is_interrupted=True)


async def _end_aborted_turn(run: Run) -> None:
    """End the turn with its partial reply and a result for each call."""
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


async def _ending(run: Run, turn: _Turn) -> AgentEnd | None:
    """Return the end of the run if it ends after this turn, or None if it continues."""
    reply = turn.reply
    continues = turn.is_interrupted and bool(run.inbox.steering)
    if reply.stop_reason in ("error", "aborted") and not continues:
        return AgentEnd(stop_reason=reply.stop_reason, error=reply.error)
    if turn.stop is not None:
        return _stopped(turn.stop)
    if not turn.terminate:
        await poll_steering(run)
        _continue_if_idle(run, turn)
    if turn.terminate or run.request.should_stop():
        return AgentEnd(stop_reason="stop")
    if await _has_nothing_to_do(run, turn):
        return AgentEnd(stop_reason=reply.stop_reason, error=reply.error)
    limit = await planning_limit(run) or _limit(run)
    if limit is None:
        return None
    run.bus.publish(limit)
    append_messages(run, (synthetic(f"[Agent stopped: {limit.message}]"),))
    return AgentEnd(stop_reason=reply.stop_reason, limit=limit.limit, stop_message=limit.message)


async def _has_nothing_to_do(run: Run, turn: _Turn) -> bool:
    """Return True if no message is queued for another turn after the program and its hooks were asked for one."""
    if turn.continues:
        return False
    if not run.inbox:
        await poll_follow_up(run)
    if not run.inbox:
        await run.jobs.wait_for_news()
    if not run.inbox:
        await run.hooks.before_stop(turn.reply)
    return not run.inbox


def _continue_if_idle(run: Run, turn: _Turn) -> None:
    if turn.continues or run.inbox.has_pending:
        return
    message = run.request.on_idle(turn.reply)
    if message is not None:
        run.inbox.reminders.put(message)


def _stopped(stop: Stop) -> AgentEnd:
    return AgentEnd(stop_reason="stop", limit="policy", stop_message=stop.reason or "stopped by a hook")


async def _next_messages(run: Run, *, at_rest: bool) -> tuple[Message, ...]:
    """Return the queued messages for the next turn, without those that a guardrail blocks."""
    admitted: tuple[Message, ...] = ()
    while not admitted and (run.inbox.steering or (at_rest and run.inbox.follow_up)):
        admitted = await _admit_queued(run, run.inbox.steering or run.inbox.follow_up)
    return admitted


async def _admit_queued(run: Run, queue: Queue) -> tuple[Message, ...]:
    """Take messages from a queue; if this is cancelled, those that are not rejected return to it."""
    queued = queue.take()
    try:
        admitted = [await _admitted(run, message) for message in queued]
    except asyncio.CancelledError:
        for message in reversed([each for each in queued if each.id not in run.progress.rejected]):
            queue.put(message, at=0)
        raise
    return tuple(each for each in admitted if each is not None)


def _limit(run: Run) -> LimitReached | None:
    """Return the limit that allows no further turn, of this run or of one it works for."""
    spent = (each.meter.spent() for each in run.ancestors[1:])
    return run.meter.exceeded() or next((limit for limit in spent if limit), None)


def _trigger(run: Run) -> TurnTrigger:
    if run.progress.turn > 1:
        return "continuation"
    if run.request.continuation is None:
        return run.request.trigger
    return "branch" if run.request.continuation.kind == "branch" else "continuation"


async def admit_prompts(run: Run, prompts: tuple[Message, ...]) -> tuple[Message, ...] | Reject:
    """Return the prompts after all guardrails; if one is blocked, all are."""
    messages: list[Message] = []
    for prompt in prompts:
        admitted = await _admitted(run, prompt)
        if admitted is None:
            return Reject(run.progress.rejection)
        messages.append(admitted)
    return tuple(messages)


async def _admitted(run: Run, message: Message) -> Message | None:
    if not _is_checked(run, message) or not isinstance(message, UserMessage):
        return message
    verdict = await apply_guardrails(message, run.options.guardrails)
    if isinstance(verdict, Reject):
        _reject(run, message, verdict.reason)
        return None
    run.progress.admitted[message.id] = verdict
    return verdict


def _is_checked(run: Run, message: Message) -> bool:
    """Return True if guardrails check a message."""
    return bool(run.options.guardrails) and isinstance(message, UserMessage) and not message.synthetic


def _reject(run: Run, message: Message, reason: str) -> None:
    run.progress.rejection = reason
    run.progress.rejected.add(message.id)
    run.bus.publish(InputRejected(reason=reason, message_id=message.id))


def append_messages(run: Run, messages: tuple[Message, ...]) -> None:
    """Append messages to the history and publish them."""
    for message in messages:
        run.history.append(message)
        publish_message(run.bus.publish, message)
