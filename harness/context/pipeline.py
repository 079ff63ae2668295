"""Context pipeline: from the history to the messages of a model call.

Overlay → `transform_context` → eviction → compaction → trimming → `convert_to_llm` → normalization. A stage changes
what models see only when the context has grown beyond its share of the window, so that the beginning of a request,
which providers cache, stays the same between turns. The history never changes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.context.eviction import SMALLEST_BATCH, EvictionGoal, choose_evictions
from harness.context.history import History, is_prompt
from harness.context.normalize import Normalizer
from harness.context.overlay import Eviction
from harness.context.overlay_events import trim_event
from harness.context.policy import ContextLimits, ContextPolicy, context_limits
from harness.context.state import ContextState
from harness.context.summary_text import is_summary
from harness.context.tokens import Report, estimate_message, estimate_messages, estimate_overhead
from harness.context.trimming import MIN_SHARE, FittedContext, Trim, fit, is_marker, last_reply_failed
from harness.events import CompactionTrigger, Evicted
from harness.messages import AssistantMessage, CustomMessage, Message, ModelMessage
from harness.ports.provider import Model, ToolSpec
from harness.ports.tool import Tool, specs_of
from harness.publishing import Bus

RECALL = "recall"
"""Name of the tool that returns evicted content."""
TRIM_TO = 0.75
"""Share of the maximum length that trimming reaches if possible. What is left out stays out, so the beginning of the
requests is the same until the context is full again."""

ToLlm: TypeAlias = Callable[[Message], ModelMessage | None]
"""Function that converts a message for the model, or returns None to leave it out."""

Transform: TypeAlias = Callable[[Sequence[Message], bool], Awaitable[Sequence[Message]]]
"""Function that turns the history into the context; the flag is True if the last request was too long."""

TrimReason: TypeAlias = Literal["overflow", "window"]

Compact: TypeAlias = Callable[[CompactionTrigger], Awaitable[object]]
"""Function that lets a model summarize older messages; returns None if they stay."""


def to_llm(message: Message) -> ModelMessage | None:
    """Convert a message for the model; messages of the application are left out."""
    return None if isinstance(message, CustomMessage) else message


class ContextOptions(Protocol):
    """The options that context building needs."""

    @property
    def window(self) -> ContextPolicy: ...
    @property
    def convert_to_llm(self) -> ToLlm: ...
    @property
    def transform_context(self) -> Transform | None: ...


class ContextSettings(Protocol):
    """The settings of an agent that its context depends on."""

    max_tokens: int | None

    @property
    def context(self) -> ContextState: ...
    @property
    def model(self) -> Model: ...
    @property
    def system_prompt(self) -> str: ...
    @property
    def available_tools(self) -> tuple[Tool, ...]: ...


class ContextSource(Protocol):
    """The part of a run that its context is built from."""

    @property
    def history(self) -> History: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def options(self) -> ContextOptions: ...
    @property
    def state(self) -> ContextSettings: ...
    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is offered."""
        ...


class BuiltContext(Struct, frozen=True):
    """Messages of a request, with its size."""

    messages: tuple[ModelMessage, ...] = ()
    """The messages."""
    estimate: int = 0
    """Estimated tokens of the request, uncalibrated."""
    tokens: int = 0
    """Calibrated tokens of the request."""
    is_too_long: bool = False
    """True if it exceeds the window although texts are truncated to the shortest useful length."""


async def build_context(run: ContextSource, model: Model, compact: Compact) -> BuiltContext:
    """Return the messages of the next request.

    Args:
        run: The run.
        model: The model of the request.
        compact: Lets a model summarize older messages.
    """
    pipeline = _Pipeline(run, model)
    pipeline.end_trim()
    await pipeline.transform(overflow=False)
    policy, usable = pipeline.policy, pipeline.limits.usable
    if pipeline.exceeds(policy.evict_at) and pipeline.evict(int(policy.evict_to * usable)):
        await pipeline.transform(overflow=False)
    if pipeline.exceeds(policy.compact_at) and not run.state.context.cooldown and await compact("auto"):
        await pipeline.transform(overflow=False)
    await pipeline.trim_to(usable, "window")
    return pipeline.result()


async def shrink_after_overflow(run: ContextSource, model: Model, compact: Compact) -> BuiltContext:
    """Return a smaller context after an overflow, and limit the requests of later turns; the history is unchanged."""
    pipeline = _Pipeline(run, model)
    state, policy = run.state.context, pipeline.policy
    refused = pipeline.overlaid_tokens
    await pipeline.transform(overflow=True)
    wanted = policy.overflow_tokens or min(refused, pipeline.limits.window) // 2
    if pipeline.tokens > wanted:
        state.budget = wanted
        if policy.evict_at and pipeline.evict(wanted):
            await pipeline.transform(overflow=True)
        if policy.compact_at and pipeline.tokens > wanted and await compact("overflow"):
            await pipeline.transform(overflow=True)
    await pipeline.trim_to(wanted, "overflow")
    return pipeline.result()


async def side_context(
    options: ContextOptions, state: ContextSettings, messages: Sequence[Message], tools: Sequence[ToolSpec]
) -> tuple[ModelMessage, ...]:
    """Return the messages of a request that is not part of a run, such as a side question. Changes no state.

    Args:
        options: Options of the agent.
        state: Settings of the agent.
        messages: The context, with the overlay applied.
        tools: Declared tools.
    """
    overhead, model, context = estimate_overhead(state.system_prompt, tools), state.model, state.context
    if context.overlay.trim:
        messages = context.overlay.trim.apply(messages)
    if options.transform_context is not None:
        has_overflowed = False
        messages = await options.transform_context(messages, has_overflowed)
    usable = limits_for(options.window, state, model).usable
    if context.count(overhead + estimate_messages(messages), model.spec.name) > usable:
        budget = context.calibration.estimate_for(usable, model.spec.name, context.report) - overhead
        messages = fit(messages, budget, options.window).messages
    return converted(messages, options.convert_to_llm)


class _Pipeline:
    """One pass through the stages. `tokens` is the calibrated size of the request so far."""

    def __init__(self, run: ContextSource, model: Model) -> None:
        self._run = run
        self._state = run.state.context
        self._model = model.spec.name
        self._tools = run.tools
        self._overhead = estimate_overhead(run.state.system_prompt, specs_of(self._tools))
        self.policy = run.options.window
        self.limits = limits_for(run.options.window, run.state, model)
        self._update()
        if self._state.report is None:
            self._state.report = earlier_report(self._state, self._overhead)
        self._staged: Sequence[Message] = ()
        """Messages after the stages so far."""
        self._estimate = 0
        self._is_too_long = False

    @property
    def tokens(self) -> int:
        return self._state.count(self._estimate, self._model)

    def exceeds(self, share: float) -> bool:
        """Return True if the request exceeds a share of the usable window; 0 = unlimited."""
        return 0 < share * self.limits.usable < self.tokens

    @property
    def overlaid_tokens(self) -> int:
        """Size of a request with all that the overlay shows."""
        return self._state.count(self._overhead + self._state.view.tokens, self._model)

    def _update(self) -> None:
        self._state.view.update(self._run.history.messages, self._state.overlay)

    async def transform(self, *, overflow: bool) -> None:
        """Start from the overlay again, and let the program's function change it."""
        self._update()
        view, change = self._state.view, self._run.options.transform_context
        if change is None:
            self._staged, self._estimate = view.messages, self._overhead + view.tokens
        else:
            self._staged = await change(tuple(view.messages), overflow)
            self._estimate = self._overhead + estimate_messages(self._staged)

    def evict(self, target: int) -> bool:
        """Evict old tool output down to `target` tokens if possible. Return False if too little can be evicted."""
        state, before = self._state, self.tokens
        factor = state.calibration.factor(self._model)
        goal = EvictionGoal(int((before - target) / factor), int(SMALLEST_BATCH * self.limits.usable / factor))
        overlay = state.overlay
        ids = choose_evictions(
            state.view.messages, goal, self.policy, overlay.evicted | overlay.pinned | overlay.dropped
        )
        if not ids:
            return False
        can_recall = any(tool.name == RECALL for tool in self._tools)
        eviction = Eviction(frozenset(ids), last_id(self._run.history), can_recall)
        tokens = state.view.tokens
        state.add_eviction(eviction)
        self._update()
        after = state.count(self._estimate + state.view.tokens - tokens, self._model)
        self._run.bus.publish(Evicted(ids=tuple(ids), can_recall=can_recall, tokens_before=before, tokens=after))
        return True

    def end_trim(self) -> None:
        """Show trimmed messages again if a request may be longer than when they were trimmed."""
        trim = self._state.overlay.trim
        if trim and trim.limit < self.limits.usable:
            before = self.overlaid_tokens
            self._set_trim(None)
            self._publish_trim("window", Trim(limit=self.limits.usable), before, self.overlaid_tokens)

    async def trim_to(self, target: int, reason: TrimReason) -> None:
        """Leave messages out, and truncate others, if the request has more than `target` tokens."""
        before = self.tokens
        if before <= target:
            return
        earlier = self._state.overlay.trim or Trim()
        trim = replace(earlier.extended(self._roomy(target).trim), limit=target, after=last_id(self._run.history))
        is_new = trim != replace(earlier, lines=trim.lines, limit=trim.limit, after=trim.after)
        if is_new:
            self._set_trim(trim)
            await self.transform(overflow=reason == "overflow")
        shares = trim.token_limits
        if self.tokens > target and self._run.options.transform_context is not None:
            # The function of the program adds messages.
            fitted = self._fitted(target)
            self._staged, self._estimate = fitted.messages, fitted.tokens + self._overhead
            shares = {**shares, **fitted.trim.token_limits}
        # After an overflow, the service decides, because its limit is not known.
        is_known = reason == "window" and not self._state.budget
        self._is_too_long = is_known and bool(shares) and self._estimate > self._overhead + self._budget(target)
        if is_new or reason == "overflow":
            self._publish_trim(reason, trim, before, self.tokens)

    def _roomy(self, target: int) -> FittedContext:
        """Return a context with room for some turns, unless that would truncate prompts or make output useless."""
        roomy = self._fitted(int(TRIM_TO * target))
        if not self._is_harmful(roomy):
            return roomy
        full = self._fitted(target)
        return roomy if self._is_harmful(full) else full

    def _is_harmful(self, fitted: FittedContext) -> bool:
        shares = fitted.trim.token_limits
        cuts_prompts = any(each.id in shares and (is_prompt(each) or is_summary(each)) for each in self._staged)
        return cuts_prompts or MIN_SHARE in shares.values()

    def _fitted(self, target: int) -> FittedContext:
        keep = {self._state.reminder_id} | self._state.overlay.pinned
        return fit([each for each in self._staged if not is_marker(each)], self._budget(target), self.policy, keep)

    def _budget(self, target: int) -> int:
        """Return the estimate that the messages of a request with `target` tokens have."""
        return self._state.calibration.estimate_for(target, self._model, self._state.report) - self._overhead

    def _set_trim(self, trim: Trim | None) -> None:
        self._state.overlay = replace(self._state.overlay, trim=trim)
        self._update()

    def _publish_trim(self, reason: TrimReason, trim: Trim, before: int, after: int) -> None:
        self._run.bus.publish(replace(trim_event(trim), reason=reason, tokens_before=before, tokens=after))

    def result(self) -> BuiltContext:
        return BuiltContext(self._converted(), self._estimate, self.tokens, self._is_too_long)

    def _converted(self) -> tuple[ModelMessage, ...]:
        messages = self._staged
        if last_reply_failed(messages):
            # The model must not take its failed reply for the beginning of its answer.
            messages = messages[:-1]
        return converted(messages, self._run.options.convert_to_llm, self._state.normalizer)


def converted(
    messages: Sequence[Message], convert: ToLlm, normalizer: Normalizer | None = None
) -> tuple[ModelMessage, ...]:
    """Return the messages as they can be sent."""
    normalizer = normalizer or Normalizer()
    # Normalization drops custom messages as well, so that a long conversation is not walked twice.
    if convert is to_llm:
        return normalizer.normalize(messages)
    return normalizer.normalize([each for message in messages if (each := convert(message)) is not None])


def context_tokens(state: ContextSettings, history: History, tools: Sequence[Tool]) -> int:
    """Return the length of the next request with all that the overlay shows now, in tokens.

    Args:
        state: Settings of the agent.
        history: Its history.
        tools: Tools that the model is offered.
    """
    context = state.context
    context.view.update(history.messages, context.overlay)
    overhead = estimate_overhead(state.system_prompt, specs_of(tools))
    return context.count(overhead + context.view.tokens, state.model.spec.name)


def limits_for(policy: ContextPolicy, state: ContextSettings, model: Model) -> ContextLimits:
    """Return the sizes that apply to requests of an agent to a model."""
    return context_limits(policy, model, state.max_tokens, state.context.budget)


def last_id(history: History) -> str:
    """Return the id of the last message that models see; empty if they see no message."""
    messages = reversed(history.outline)
    return next((each.id for each in messages if not isinstance(each, CustomMessage)), "")


def earlier_report(state: ContextState, overhead: int) -> Report | None:
    """Return the report of the last reply, such as that of a resumed session.

    None if it does not fit the context, because messages were left out of it or the overlay has changed since.
    """
    changes, messages = state.overlay.changed_after, state.view.messages
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.id in changes:
            return None
        if isinstance(message, AssistantMessage) and message.usage.context:
            estimate = overhead + sum(map(estimate_message, messages[: index + 1]))
            report = Report(f"{message.provider}/{message.model}", message.usage.context, estimate)
            if 2 * report.tokens < report.estimate:
                return None
            state.calibration.add(report)
            return report
    return None
