"""Model call: build the context, send the request, stream the reply, handle errors, and record usage."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Literal, TypeAlias

from msgspec.structs import replace

from harness.agent.hosted_tools import request_specs
from harness.agent.limits import with_price
from harness.agent.model_request import as_stream_error, in_own_task, provider_errors, request_of, stream_reply
from harness.agent.planning import count_turn
from harness.agent.prompt_cache import miss_text
from harness.agent.reply import ReplyBuilder
from harness.agent.retry import RetryPolicy, RetryStrategy, format_delay, retry_delay
from harness.agent.run_state import Run
from harness.agent.tool_search import called_names, with_real_calls, with_sent_calls
from harness.concurrency import raise_if_cancelled
from harness.context.breakdown import largest_parts
from harness.context.pipeline import BuiltContext, build_context, limits_for, shrink_after_overflow
from harness.context.policy import ContextPolicy
from harness.context.tokens import Report, estimate_message
from harness.deltas import UsageReport
from harness.errors import ContextWindowOverflow, ProviderError
from harness.events import (
    CompactionTrigger,
    ContextWarning,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelFallback,
    ModelRouted,
    Notice,
    RequestStart,
    RetryScheduled,
    ToolCallsReceived,
    UsageAdded,
    UsageUpdate,
)
from harness.messages import AssistantMessage, Usage
from harness.ports.provider import Model, Request, known_model_info
from harness.ports.tool import specs_of

logger = logging.getLogger(__name__)

WarningLevel: TypeAlias = Literal["critical", "warn", "advise"]
"""Severity of a warning of a nearly full window."""

YIELD_INTERVAL_S = 0.01
"""Maximum seconds that a fast stream may occupy the event loop."""


async def call_model(run: Run) -> AssistantMessage:
    """Request a reply, with retries and fallbacks, and append it to the history.

    A failed request becomes a reply with stop reason `error`. If the run is cancelled, the partial reply is appended as
    aborted, and the cancellation propagates.
    """
    model_call = _ModelCall(run)
    try:
        reply = await model_call.reply()
    except asyncio.CancelledError:
        model_call.settle(model_call.builder.abort())
        raise
    if reply.stop_reason == "error":
        await run.hooks.on_error(reply.error or "")
    await run.hooks.after_model(reply)
    return reply


class _ModelCall:
    """Requests one reply. `_attempt` counts from 1 for each model; the context is reduced once after an overflow."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._model = run.state.model
        self._attempt = 1
        self._empty = 0
        self._has_shrunk = False
        self._context = BuiltContext()
        self._sent: tuple[Request, float] | None = None
        self.builder = ReplyBuilder(self._model.spec, run.history.call_ids)

    async def reply(self) -> AssistantMessage:
        try:
            self._use(self._choose())
            with as_stream_error("the tools could not be listed"):
                self._run.filter_tools()
            await self._build_context()
            while True:
                raise_if_cancelled()
                # Chosen anew for each attempt, because the user may switch models during a wait.
                await self._take(self._choose())
                try:
                    reply = await self._ask()
                except ProviderError as error:
                    if await self._recovers(error):
                        continue
                    raise
                await load_price(self._run, self._model, reply)
                await self._run.state.late.wait_for(called_names(reply))
                if not await self._retries_empty(reply):
                    return self.settle(reply)
        except ProviderError as failure:
            error = self._with_sizes(failure) if isinstance(failure, ContextWindowOverflow) else failure
            self._run.progress.failure = error
            return self.settle(self.builder.fail(_explained(error, self._run.options.retry)))

    def settle(self, reply: AssistantMessage) -> AssistantMessage:
        run = self._run
        reply = with_real_calls(with_cost(reply, self._model), run.state.callable_tools)
        run.history.append(reply)
        if not self.builder.started:
            run.bus.publish(MessageStart(message_id=reply.id, role="assistant"))
        run.bus.publish(MessageEnd(message=reply))
        count_turn(run)
        self._observe(reply)
        record_usage(run, self._model, reply.usage)
        self._observe_cache(reply)
        if reply.tool_calls:
            run.bus.publish(ToolCallsReceived(count=len(reply.tool_calls)))
        return reply

    def _observe(self, reply: AssistantMessage) -> None:
        """Count a turn, and calibrate the token counts; what an incomplete reply reports may be incomplete, too."""
        self._run.state.context.end_turn()
        if reply.usage.context and reply.stop_reason not in ("error", "aborted"):
            estimate = self._context.estimate + estimate_message(reply)
            self._run.state.context.observe(Report(self._model.spec.name, reply.usage.context, estimate))

    def _observe_cache(self, reply: AssistantMessage) -> None:
        """Publish a notice if the prompt cache did not hold what it should have held."""
        run = self._run
        found = run.state.prompt_cache.observe(*self._sent, reply) if self._sent else None
        # Subagents have conversations of their own; their misses are in the usage.
        if found and found[1] and run.parent is None:
            text = miss_text(found[0], reply.usage, known_model_info(self._model).price)
            run.bus.publish(Notice(text=text))

    def _with_sizes(self, error: ContextWindowOverflow) -> ContextWindowOverflow:
        """Return the error with what fills the context."""
        parts = largest_parts(self._run.state.system_prompt, specs_of(self._run.tools), self._context.messages)
        text = f"{str(error).rstrip('.')}. The request has about {self._context.tokens:,} tokens: {parts}."
        return ContextWindowOverflow(text, retry_after=error.retry_after, status=error.status)

    async def _take(self, model: Model) -> None:
        if model.spec != self._model.spec:
            self._attempt = 1
            self._use(model)
            # The window of the other model may be smaller, and it may be offered other tools.
            await self._build_context()
        self._use(model)
        self.builder = ReplyBuilder(model.spec, self._run.history.call_ids)

    def _use(self, model: Model) -> None:
        self._model, self._run.progress.spec = model, model.spec

    def _choose(self) -> Model:
        with as_stream_error("the routing failed"):
            return _chosen(self._run)

    async def _build_context(self, *, overflow: bool = False) -> None:
        build = shrink_after_overflow if overflow else build_context
        with as_stream_error("the conversation could not be prepared"):
            self._context = await build(self._run, self._model, self._compact)
        if self._context.is_too_long:
            raise ContextWindowOverflow(
                "The request does not fit into the context window, even with its texts truncated"
            )

    async def _compact(self, trigger: CompactionTrigger) -> object:
        from harness.agent.compaction import compact_context  # most runs need none

        return await compact_context(self._run, trigger)

    async def _ask(self) -> AssistantMessage:
        with provider_errors(self._model.spec.provider):
            request = await self._request()
            self._run.progress.sent = request.messages
            count, tokens = len(request.messages), self._context.tokens
            self._run.bus.publish(RequestStart(spec=request.spec, message_count=count, tokens=tokens))
            await self._run.bus.flush()
            self._sent = request, time.time()
            try:
                reading = self._read(request, self.builder, asyncio.current_task())
                return await in_own_task(reading, self._run.options.cancel_grace_s, self._abandon)
            finally:
                self._run.state.reply = None

    async def _request(self) -> Request:
        run = self._run
        with as_stream_error("the tools could not be listed"):
            tools = request_specs(run.tools, self._model, run.permissions, run.user, run.hooks.hooks)
        request = replace(
            await request_of(run.options, run.state, self._model.spec, run.bus.session_id),
            messages=with_sent_calls(self._context.messages, run.state.tools, run.state.late),
            tools=tools,
            output_schema=run.request.output_schema if self._model.native_schema else None,
            metadata=run.request.metadata,
            on_notice=self._warn,
        )
        return await run.hooks.before_model(request)

    def _abandon(self) -> None:
        logger.warning("%s did not stop when it was cancelled", self._model.spec.name)
        self._warn(f"{self._model.spec.name} did not stop when it was cancelled; its request may still be running.")

    async def _read(
        self, request: Request, builder: ReplyBuilder, caller: asyncio.Task[object] | None
    ) -> AssistantMessage:
        run = self._run
        last_yield = time.monotonic()
        run.state.reply = builder
        deltas = stream_reply(run.options, self._model, request)
        try:
            async for delta in deltas:
                # The provider may have swallowed the cancellation, or a subscriber just stopped the run.
                raise_if_cancelled()
                raise_if_cancelled(caller)
                if not (builder.started or isinstance(delta, UsageReport)):
                    run.bus.publish(MessageStart(message_id=builder.id, role="assistant"))
                seen = builder.take(delta)
                if seen is not None:
                    run.bus.publish(MessageUpdate(message_id=builder.id, delta=seen, kind=builder.kind_of(seen.index)))
                if time.monotonic() - last_yield > YIELD_INTERVAL_S:
                    await asyncio.sleep(0)
                    last_yield = time.monotonic()
        finally:
            # An interrupted stream holds its connection until it is closed.
            if isinstance(deltas, AsyncGenerator):
                await deltas.aclose()
        return builder.finish()

    async def _recovers(self, error: ProviderError) -> bool:
        """Prepare another request after an error. Return False if the call failed permanently."""
        if isinstance(error, ContextWindowOverflow) and not self._has_shrunk:
            self._has_shrunk = True
            self._discard(str(error))
            await self._build_context(overflow=True)
            return True
        retry = self._run.options.retry
        with as_stream_error("the retry strategy failed"):
            delay = retry_delay(retry, error, self._attempt)
        if delay is not None:
            self._discard(str(error))
            # How often a user-supplied strategy retries is not known.
            await self._wait(delay, retry.max_retries if isinstance(retry, RetryPolicy) else 0, str(error))
            return True
        return self._falls_back(error)

    def _falls_back(self, error: ProviderError) -> bool:
        run = self._run
        if run.progress.fallbacks >= len(run.options.fallback):
            return False
        failed = self._model.spec
        self._discard(str(error))
        run.progress.fallbacks += 1
        self._attempt = 1
        run.bus.publish(ModelFallback(failed=failed, spec=_chosen(run).spec, error=str(error)))
        return True

    async def _retries_empty(self, reply: AssistantMessage) -> bool:
        """Wait before another request if the reply is empty. Return False if the reply counts."""
        if reply.stop_reason != "stop" or reply.tool_calls or reply.text.strip():
            return False
        retry = self._run.options.retry
        retry = retry if isinstance(retry, RetryPolicy) else RetryPolicy()
        self._empty += 1
        if self._empty > retry.max_empty:
            self._warn("The model returned an empty response.")
            return False
        reason = "empty response"
        self._discard(reason)
        await self._wait(retry.empty_delay * self._empty, retry.max_empty, reason, attempt=self._empty)
        return True

    def _warn(self, text: str) -> None:
        self._run.bus.publish(Notice(text=text, level="warning"))

    def _discard(self, reason: str) -> None:
        """Drop the reply so far; its usage counts."""
        run, model, discarded = self._run, self._model, self.builder
        self.builder = ReplyBuilder(model.spec, run.history.call_ids)
        if discarded.usage != Usage():
            usage = with_price(discarded.usage, known_model_info(model).price)
            record_usage(run, model, usage)
            run.bus.publish(UsageAdded(model=model.spec.name, usage=usage, source="aborted"))
        if discarded.started:
            run.bus.publish(MessageDiscarded(message_id=discarded.id, reason=reason))

    async def _wait(self, delay: float, most: int, error: str, *, attempt: int = 0) -> None:
        number = attempt or self._attempt
        self._run.bus.publish(RetryScheduled(attempt=number, max_retries=most, delay=delay, error=error))
        self._attempt += 0 if attempt else 1
        await self._run.state.pause.wait(delay)


def _chosen(run: Run) -> Model:
    """Return the current model: a fallback after a failure, else that of the run, by routing, or the agent's own."""
    if run.progress.fallbacks:
        return run.options.fallback[run.progress.fallbacks - 1]
    model = run.request.model
    if model is None and run.options.routing is not None:
        model = run.options.routing.model_for(run.progress.turn, is_subagent=run.parent is not None)
    if model is None:
        return run.state.model
    if model.spec != (run.progress.asked or run.state.model.spec):
        run.bus.publish(ModelRouted(spec=model.spec))
    run.progress.asked = model.spec
    return model


def _explained(error: ProviderError, retry: RetryStrategy) -> str:
    text = str(error)
    longest = retry.max_retry_after if isinstance(retry, RetryPolicy) else math.inf
    if error.retry_after is not None and error.retry_after > longest:
        sentence = text if text.endswith((".", "!", "?", "…")) else f"{text}."
        wait = format_delay(error.retry_after)
        return f"{sentence} The service asks to wait {wait}, which exceeds the limit for automatic retries."
    return text


async def load_price(run: Run, model: Model, reply: AssistantMessage) -> None:
    """Wait for the model's price if something depends on it: a hook that counts cost, or a cost limit while the run
    continues."""
    continues = bool(reply.tool_calls or run.inbox)
    if run.hooks.counts_cost or (continues and any(each.meter.limits.max_cost for each in run.ancestors)):
        try:
            await model.info.load()
        except Exception:  # user-supplied source; may raise. The reply is kept without a price
            logger.exception("the price of %s could not be looked up", model.spec.name)


def with_cost(reply: AssistantMessage, model: Model) -> AssistantMessage:
    return replace(reply, usage=with_price(reply.usage, known_model_info(model).price))


def record_usage(run: Run, model: Model, usage: Usage) -> None:
    """Count the usage of a reply for the run, its agent, and the agents they work for."""
    facts = known_model_info(model)
    for each in run.ancestors:
        for ledger in (each.meter.ledger, each.state.ledger):
            ledger.settle(model.spec.name, facts.price)
            ledger.add(model.spec.name, usage)
    context, limits = usage.context, limits_for(run.options.window, run.state, model)
    if not context:
        return
    run.bus.publish(UsageUpdate(usage=usage, total=run.state.usage, context=context, window=limits.window))
    reached = (pair for pair in _warnings(run.options.window) if 0 < pair[1] * limits.usable <= context)
    none: tuple[WarningLevel, float] = "advise", 0.0
    level, share = next(reached, none)
    if share > run.state.context.warned:
        run.bus.publish(ContextWarning(context=context, window=limits.window, level=level))
    run.state.context.warned = share


def _warnings(policy: ContextPolicy) -> Iterator[tuple[WarningLevel, float]]:
    yield "critical", policy.critical_at
    yield "warn", policy.warn_at
    yield "advise", policy.advise_at
