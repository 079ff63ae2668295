"""Building the context of a model call from what a run provides: transformation, policy, conversion, normalization."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from harness.context.history import History
from harness.context.normalize import Normalizer
from harness.context.policy import ContextPolicy, FittedContext, fit, last_reply_failed
from harness.context.tokens import estimate_messages, estimate_overhead, smallest_limit
from harness.events import CompactionEnd, CompactionStart
from harness.messages import CustomMessage, Message, ModelMessage
from harness.ports.provider import Model, ModelInfo, known_model_info
from harness.ports.tool import Tool, specs_of
from harness.publishing import Bus

ToLlm: TypeAlias = Callable[[Message], ModelMessage | None]
"""Function that converts a message for the model, or returns None to leave it out."""

Transform: TypeAlias = Callable[[Sequence[Message], bool], Awaitable[Sequence[Message]]]
"""Function that turns the history into the context; the flag is True if the last request was too long."""


def to_llm(message: Message) -> ModelMessage | None:
    """Convert a message for the model; messages of the application are left out."""
    return None if isinstance(message, CustomMessage) else message


class ContextProgress(Struct):
    """State of context building within one run."""

    left_out: tuple[int, bool] = (0, False)
    """Number of messages that the last context left out, and True if others were truncated."""

    normalizer: Normalizer = field(default_factory=Normalizer)


class ContextOptions(Protocol):
    """The options that context building needs."""

    @property
    def window(self) -> ContextPolicy: ...
    @property
    def convert_to_llm(self) -> ToLlm: ...
    @property
    def transform_context(self) -> Transform | None: ...


class ContextState(Protocol):
    """The state of an agent that its context depends on."""

    budget: int
    """Tokens a request may have, learned from a refused one; 0 = unknown."""

    max_tokens: int | None

    @property
    def system(self) -> str: ...
    @property
    def available_tools(self) -> tuple[Tool, ...]: ...
    @property
    def model_info(self) -> ModelInfo: ...


class ContextSource(Protocol):
    """The part of a run that its context is built from."""

    @property
    def history(self) -> History: ...
    @property
    def bus(self) -> Bus: ...
    @property
    def options(self) -> ContextOptions: ...
    @property
    def state(self) -> ContextState: ...
    @property
    def context(self) -> ContextProgress: ...
    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is offered."""
        ...


async def build_context(run: ContextSource) -> tuple[ModelMessage, ...]:
    """Return the messages of the next request: `transform_context`, the context policy, then `convert_to_llm`.

    All start from the history with its overlay of compactions and evictions applied.
    """
    messages = await _transformed(run, overflow=False)
    budget = smallest_limit(run.options.window.max_tokens, run.state.budget)
    if budget:
        fitted = fit(messages, budget - _overhead(run), run.options.window)
        _publish_growth(run, messages, fitted)
        messages = fitted.messages
    return _converted(run, messages)


async def shrink_after_overflow(run: ContextSource, model: Model) -> tuple[ModelMessage, ...]:
    """Return a smaller context after an overflow, and reduce the budget of later turns; the history is unchanged."""
    messages = run.history.context_messages
    overhead = _overhead(run)
    refused = estimate_messages(messages) + overhead
    shown = await _transformed(run, overflow=True)
    wanted = run.options.window.overflow_tokens or min(refused, known_model_info(model).context_window) // 2
    if estimate_messages(shown) + overhead > wanted:
        run.state.budget = wanted
        fitted = fit(shown, wanted - overhead, run.options.window)
    else:
        fitted = FittedContext(tuple(shown), estimate_messages(shown), len(messages) - len(shown))
    _publish_compaction(run, messages, fitted, "overflow")
    return _converted(run, fitted.messages)


async def _transformed(run: ContextSource, *, overflow: bool) -> Sequence[Message]:
    messages = run.history.context_messages
    if run.options.transform_context is None:
        return messages
    return await run.options.transform_context(messages, overflow)


def _converted(run: ContextSource, messages: Sequence[Message]) -> tuple[ModelMessage, ...]:
    if last_reply_failed(messages):
        # The model must not take its failed reply for the beginning of its answer.
        messages = messages[:-1]
    convert = run.options.convert_to_llm
    # Normalization drops custom messages as well, so that a long conversation is not walked twice.
    if convert is to_llm:
        return run.context.normalizer.normalize(messages)
    return run.context.normalizer.normalize(
        [converted for each in messages if (converted := convert(each)) is not None]
    )


def _publish_growth(run: ContextSource, messages: Sequence[Message], fitted: FittedContext) -> None:
    """Publish a compaction only if more is left out than before, not every turn."""
    left_out = (fitted.dropped, fitted.tokens < estimate_messages(messages))
    if left_out > run.context.left_out:
        run.context.left_out = left_out
        _publish_compaction(run, messages, fitted, "window")


def _publish_compaction(
    run: ContextSource, messages: Sequence[Message], fitted: FittedContext, reason: Literal["overflow", "window"]
) -> None:
    run.bus.publish(CompactionStart(reason=reason, tokens=estimate_messages(messages)))
    run.bus.publish(CompactionEnd(reason=reason, dropped=fitted.dropped, tokens=fitted.tokens))


def _overhead(run: ContextSource) -> int:
    return estimate_overhead(run.state.system, specs_of(run.tools))
