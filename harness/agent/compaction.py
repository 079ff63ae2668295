"""Compaction: asks a model to summarize older messages, and lets models see the summary instead of them."""

from __future__ import annotations

import asyncio
import logging

from msgspec import Struct
from msgspec.structs import replace

from harness.agent.hosted_tools import request_specs
from harness.agent.limits import with_price
from harness.agent.model_request import in_own_task, provider_errors, request_of, stream_reply
from harness.agent.reminders import mode_reminder
from harness.agent.reply import ReplyBuilder, read_reply
from harness.agent.retry import retry_delay
from harness.agent.run_state import Run
from harness.agent.tool_search import with_sent_calls
from harness.approval.modes import EXECUTE
from harness.context.compaction import (
    CompactionPlan,
    SummaryOptions,
    SummaryRequest,
    facts_for,
    plan_compaction,
    summarize,
)
from harness.context.overlay import Compaction
from harness.context.overlay_events import compaction_end
from harness.context.pipeline import context_tokens, converted, last_id, limits_for
from harness.context.summary_facts import LiveFacts
from harness.context.summary_text import Summary, summary_text
from harness.context.tokens import estimate_text
from harness.errors import ContextWindowOverflow, ProviderError, SummaryFailed
from harness.events import CompactionEnd, CompactionStart, CompactionTrigger, Notice, UsageAdded
from harness.instructions.changes import current_instructions
from harness.instructions.loading import compaction_instructions
from harness.messages import AssistantMessage, Usage, UsageSource, UserMessage, synthetic, user
from harness.ports.hooks import Block
from harness.ports.provider import Model, Request, known_model_info

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Maximum number of attempts of one compaction."""
RECENT_SHARE = 0.30
"""Maximum share of the usable window for the latest messages that are not summarized."""
MANUAL_RECENT = 2
"""Maximum number of latest messages that a manual compaction does not summarize."""
LEAST_SAVED = 100
"""Tokens that a summary must save."""
MIN_WINDOW = 4_000
"""Tokens below which a request for a summary is not made smaller."""


async def compact_context(run: Run, trigger: CompactionTrigger, focus: str = "") -> Compaction | None:
    """Summarize older messages, and return the summary.

    After `compact_failures` failures in a row, automatic compactions are off for the session.

    Args:
        run: The run; it need not have begun.
        trigger: Cause.
        focus: Topic that the user wants the summary to focus on.

    Returns:
        None if there is nothing to summarize, a hook prevents it, or an automatic compaction fails.

    Raises:
        SummaryFailed: A manual compaction failed: no reply was usable.
        ProviderError: A manual compaction failed: the model call failed.
    """
    state, policy = run.state.context, run.options.window
    if trigger == "manual":
        state.failures = 0
    elif 0 < policy.compact_failures <= state.failures:
        return None
    compaction = _Compaction(run, trigger)
    plan = compaction.plan()
    if plan is None:
        return None
    verdict = await run.hooks.before_compact(trigger, compaction.tokens)
    if isinstance(verdict, Block):
        return None
    own = compaction_instructions(current_instructions(run.state.system_prompt, run.history.messages))
    instructions = "\n\n".join(filter(None, (own, verdict)))
    return await compaction.execute(plan, SummaryOptions(focus, instructions, policy.summary_tokens))


class _Summarizer(Struct, frozen=True):
    """Model that is asked for a summary, the size of the requests to it in tokens, and the form of the request."""

    model: Model
    window: int
    in_context: bool = False


class _Compaction:
    """One compaction. `tokens` is the length of the context before it."""

    def __init__(self, run: Run, trigger: CompactionTrigger) -> None:
        self._run = run
        self._state = run.state.context
        self._policy = run.options.window
        self._trigger: CompactionTrigger = trigger
        self.tokens = self._current_tokens()

    def _current_tokens(self) -> int:
        return context_tokens(self._run.state, self._run.history, self._run.tools)

    def plan(self) -> CompactionPlan | None:
        """Return what to summarize, with the content of evicted messages."""
        run, state = self._run, self._state
        model = run.state.model
        usable = limits_for(self._policy, run.state, model).usable
        recent = int(RECENT_SHARE * usable / state.calibration.factor(model.spec.name))
        policy = self._policy
        if self._trigger == "manual":
            # Who asks for a summary wants it to cover all but the last exchange.
            policy = replace(policy, keep_recent=min(policy.keep_recent, MANUAL_RECENT))
        messages = state.overlay.apply(run.history.messages)
        plan = plan_compaction(messages, policy, state.overlay.pinned, recent_tokens=recent)
        if plan is None:
            return None
        plan = with_evicted(run, plan)
        facts = facts_for(plan, live_facts(run), self._policy.prompts_tokens)
        # Without asking a model: the facts alone may be as long as the messages.
        saved = plan.tokens - estimate_text(summary_text(Summary(facts)))
        return plan if saved * state.calibration.factor(model.spec.name) >= LEAST_SAVED else None

    async def execute(self, plan: CompactionPlan, options: SummaryOptions) -> Compaction | None:
        self._run.bus.publish(CompactionStart(reason=self._trigger, tokens=self.tokens))
        try:
            summary = await self._summary(plan, options)
            return self._applied(Compaction(summary, plan.replaced, last_id(self._run.history)))
        except asyncio.CancelledError:
            self._publish_failure("the compaction was aborted", is_aborted=True)
            raise
        except (ProviderError, SummaryFailed) as error:
            self._publish_failure(str(error))
            if self._trigger == "manual":
                raise
            return None

    async def _summary(self, plan: CompactionPlan, options: SummaryOptions) -> UserMessage:
        """Ask until a summary is usable, or too many have failed; a service that is down is not asked again.

        Raises:
            SummaryFailed: No reply was usable.
            ProviderError: The model call failed.
        """
        run = self._run
        facts = facts_for(plan, live_facts(run), self._policy.prompts_tokens)
        summarizer = _summarizer(run.options.compact_model or run.state.model)
        summarizer = replace(summarizer, in_context=self._can_ask_in_context())
        attempt = 0
        while True:
            attempt += 1
            ask = SummaryQuestion(run, summarizer.model)
            form = replace(options, window=summarizer.window, in_context=summarizer.in_context)
            try:
                return await summarize(plan, facts, ask, form)
            except (ProviderError, SummaryFailed) as error:
                self._state.failures += 1
                is_last = attempt == MAX_ATTEMPTS or 0 < self._policy.compact_failures <= self._state.failures
                if is_last or (isinstance(error, ProviderError) and error.retryable):
                    raise
                summarizer = self._next(summarizer, error)

    def _can_ask_in_context(self) -> bool:
        """Return True if the whole conversation can be sent to the agent's own model."""
        run, policy = self._run, self._policy
        limits = limits_for(policy, run.state, run.state.model)
        is_own = run.options.compact_model is None and run.options.transform_context is None
        is_complete = self._state.overlay.trim is None
        fits = self._trigger != "overflow" and self.tokens + 2 * policy.summary_tokens < limits.window
        return policy.summary_in_context and is_own and is_complete and fits

    def _next(self, failed: _Summarizer, error: Exception) -> _Summarizer:
        """Return whom to ask after a failure: the same model with a smaller request, or the agent's own."""
        if failed.in_context:
            return replace(failed, in_context=False)
        if isinstance(error, ContextWindowOverflow):
            return replace(failed, window=max(failed.window // 2, MIN_WINDOW))
        return _summarizer(self._run.state.model) if failed.model.spec != self._run.state.model.spec else failed

    def _applied(self, compaction: Compaction) -> Compaction:
        """Let models see the summary.

        Raises:
            SummaryFailed: It would not make the context shorter; nothing is changed.
        """
        state, history = self._state, self._run.history
        before, cooldown = state.overlay, state.cooldown
        state.add_compaction(compaction, self._policy.compact_cooldown)
        tokens = self._current_tokens()
        # A trimmed context is no measure: the summary also replaces messages that were left out.
        if before.trim is None and self.tokens - tokens < LEAST_SAVED:
            state.overlay, state.cooldown = before, cooldown
            state.failures += 1
            raise SummaryFailed(f"the summary saves nothing: {self.tokens:,} → {tokens:,} tokens")
        state.failures = 0
        sizes = self.tokens, tokens
        self._run.bus.publish(compaction_end(compaction, before.compactions, history.outline, self._trigger, sizes))
        return compaction

    def _publish_failure(self, error: str, *, is_aborted: bool = False) -> None:
        bus, failures, tokens = self._run.bus, self._state.failures, self.tokens
        bus.publish(
            CompactionEnd(reason=self._trigger, tokens_before=tokens, tokens=tokens, error=error, is_aborted=is_aborted)
        )
        if 0 < self._policy.compact_failures <= failures and self._trigger != "manual":
            text = (
                f"Summaries have failed {failures} times. From now on, the oldest messages are left out of the context "
                "instead. A manual compaction tries again."
            )
            bus.publish(Notice(text=text, level="warning"))


class SummaryQuestion:
    """Model call for a summary; its usage counts for the run and the agents it works for."""

    def __init__(self, run: Run, model: Model, source: UsageSource = "compaction") -> None:
        self._run = run
        self._model = model
        self._source: UsageSource = source

    async def __call__(self, request: SummaryRequest) -> AssistantMessage:
        """Return the reply, after retries."""
        run, attempt = self._run, 1
        await run.bus.flush()
        while True:
            try:
                return await self._ask(request)
            except ProviderError as error:
                delay = retry_delay(run.options.retry, error, attempt)
                if delay is None:
                    raise
                attempt += 1
                await run.state.pause.wait(delay)

    async def _ask(self, question: SummaryRequest) -> AssistantMessage:
        run, model = self._run, self._model
        spec = model.spec if question.in_context else replace(model.spec, thinking="off")
        builder = ReplyBuilder(spec, run.history.call_ids)
        try:
            with provider_errors(spec.provider):
                request = await request_of(run.options, run.state, spec, run.bus.session_id)
                request = (
                    await self._in_context(request, question) if question.in_context else _alone(request, question)
                )
                reading = read_reply(stream_reply(run.options, model, request), builder)
                return await in_own_task(reading, run.options.cancel_grace_s, self._abandon)
        finally:
            self._record(builder.usage)

    def _abandon(self) -> None:
        logger.warning("%s did not stop when it was cancelled", self._model.spec.name)

    async def _in_context(self, request: Request, question: SummaryRequest) -> Request:
        """Return a request like the next one of the run, so that the provider's cache serves its beginning."""
        run, state = self._run, self._run.state
        shown = converted([*state.context.view.messages, synthetic(question.prompt)], run.options.convert_to_llm)
        tools = request_specs(run.tools, self._model, run.permissions, run.user, run.hooks.hooks)
        request = replace(request, messages=with_sent_calls(shown, state.tools, state.late), tools=tools)
        return await run.hooks.before_model(request)

    def _record(self, usage: Usage) -> None:
        if usage == Usage():
            return
        run, name, price = self._run, self._model.spec.name, known_model_info(self._model).price
        usage = with_price(usage, price)
        for each in run.ancestors:
            for ledger in (each.meter.ledger, each.state.ledger):
                ledger.settle(name, price)
                ledger.add(name, usage)
        run.bus.publish(UsageAdded(model=name, usage=usage, source=self._source))


def _alone(request: Request, question: SummaryRequest) -> Request:
    messages = (user(question.prompt),)
    return replace(request, system=question.system, messages=messages, max_tokens=question.max_tokens)


def with_evicted(run: Run, plan: CompactionPlan) -> CompactionPlan:
    """Return the plan with the content of evicted messages, which the summary may need."""
    evicted = run.state.context.overlay.evicted
    if not evicted:
        return plan
    originals = {each.id: each for each in run.history.messages if each.id in evicted}
    return replace(plan, messages=tuple(originals.get(each.id, each) for each in plan.messages))


def live_facts(run: Run) -> LiveFacts:
    """Return the mode and the background jobs of an agent."""
    state = run.state
    mode = "" if state.mode == EXECUTE else mode_reminder(state.mode, (tool.name for tool in state.tools))
    jobs = tuple(f"{job.id}: {job.spec.title} ({job.state})" for job in run.jobs.running)
    return LiveFacts(mode=mode, jobs=jobs)


def _summarizer(model: Model) -> _Summarizer:
    return _Summarizer(model, known_model_info(model).context_window)
