"""One reply of the model: ask, stream, retry."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from itertools import count
from typing import Literal

from harness.context.normalise import normalise
from harness.context.tokens import estimate
from harness.cost import priced
from harness.errors import ContextWindowOverflow, ProviderError
from harness.events import (
    ContextWarning,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    RequestStart,
    RetryScheduled,
    UsageUpdate,
)
from harness.messages import AssistantMessage
from harness.provider import Model, Request
from harness.reply import ReplyBuilder
from harness.retry import RetryPolicy
from harness.run import Run, known_facts

BREATH = 0.01
"""Seconds of a fast stream after which the rest of the program gets its turn."""

WARNINGS: tuple[tuple[Literal["critical", "warn", "advise"], float], ...] = (
    ("critical", 0.95),
    ("warn", 0.80),
    ("advise", 0.60),
)


async def think(run: Run) -> AssistantMessage:
    """Ask the model until it answers or patience ends; the reply is in the history either way.

    A failed request becomes a reply with stop reason `error`. When the run is cancelled, what was said so far stands in
    the history as an aborted reply, and the cancellation passes on.
    """
    for attempt in count(1):
        # Anew for each attempt: a person may choose another model while this one is waited for.
        model = run.state.model
        request = _request(run, model)
        builder = ReplyBuilder(model.spec, run.history.call_ids)
        run.bus.publish(RequestStart(spec=request.spec, message_count=len(request.messages), tokens=_tokens(run)))
        try:
            reply = await _stream(run, model, request, builder)
        except ProviderError as error:
            delay = run.retry.delay(error, attempt)
            if delay is None:
                return _settle(run, model, builder.fail(_explained(error, run.retry)), started=builder.started)
            await _wait(
                run,
                builder,
                RetryScheduled(attempt=attempt, max_retries=run.retry.max_retries, delay=delay, error=str(error)),
            )
        except asyncio.CancelledError:
            _settle(run, model, builder.abort(), started=builder.started)
            raise
        else:
            reply = _settle(run, model, reply, started=builder.started)
            _tell_silence(run, reply)
            return reply
    raise AssertionError("unreachable: patience ends")


def _request(run: Run, model: Model) -> Request:
    state = run.state
    return Request(
        spec=model.spec,
        system=state.system,
        messages=normalise(run.history.messages),
        tools=state.tool_specs,
        max_tokens=state.max_tokens,
        session_id=run.bus.session_id,
    )


def _tokens(run: Run) -> int:
    return estimate(run.state.system, run.state.tool_specs, run.history.messages)


async def _stream(run: Run, model: Model, request: Request, builder: ReplyBuilder) -> AssistantMessage:
    breath = time.monotonic()
    async for delta in model.provider.stream(request):
        if not builder.started:
            run.bus.publish(MessageStart(message_id=builder.id, role="assistant"))
        seen = builder.take(delta)
        if seen is not None:
            run.bus.publish(MessageUpdate(message_id=builder.id, delta=seen))
        if time.monotonic() - breath > BREATH:
            await asyncio.sleep(0)
            breath = time.monotonic()
    return builder.finish()


async def _wait(run: Run, builder: ReplyBuilder, retry: RetryScheduled) -> None:
    if builder.started:
        run.bus.publish(MessageDiscarded(message_id=builder.id, reason=retry.error))
    run.bus.publish(retry)
    await asyncio.sleep(retry.delay)


def _settle(run: Run, model: Model, reply: AssistantMessage, *, started: bool) -> AssistantMessage:
    reply = replace(reply, usage=priced(reply.usage, known_facts(model).price))
    run.history.append(reply)
    if not started:
        run.bus.publish(MessageStart(message_id=reply.id, role="assistant"))
    run.bus.publish(MessageEnd(message=reply))
    _account(run, model, reply)
    return reply


def _account(run: Run, model: Model, reply: AssistantMessage) -> None:
    facts = known_facts(model)
    run.meter.turns += 1
    for ledger in (run.meter.ledger, run.state.ledger):
        ledger.settle(model.spec.name, facts.price)
        ledger.add(model.spec.name, reply.usage)
    if not reply.usage.context:
        return
    window = facts.context_window
    context = reply.usage.context
    run.bus.publish(UsageUpdate(usage=reply.usage, total=run.state.usage, context=context, window=window))
    for level, share in WARNINGS:
        if context >= share * window:
            run.bus.publish(ContextWarning(context=context, window=window, level=level))
            return


def _tell_silence(run: Run, reply: AssistantMessage) -> None:
    """Who waited for an answer is told that there is none, rather than left to wonder."""
    if reply.stop_reason == "stop" and not reply.tool_calls and not reply.text.strip():
        run.bus.publish(Notice(text="The model ended its turn without a word.", level="warning"))


def _explained(error: ProviderError, retry: RetryPolicy) -> str:
    if error.retry_after is not None and error.retry_after > retry.max_retry_after:
        return f"{error} It asks to wait {_minutes(error.retry_after)}, so it is not asked again by itself."
    if isinstance(error, ContextWindowOverflow):
        return f"{error} Start afresh with /new, or /reset; nothing of this conversation is lost."
    return str(error)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} min"
