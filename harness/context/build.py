"""What a model is shown of the conversation: transformed, fitted into the window, rid of what is not for it, healed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from harness.agent.options import to_llm
from harness.agent.run import Run, known_model_info, specs_of
from harness.context.policy import FittedContext, fit, last_reply_failed
from harness.context.tokens import estimate_message, estimate_overhead
from harness.events import CompactionEnd, CompactionStart
from harness.messages import Message, ModelMessage
from harness.ports.provider import Model


async def build_context(run: Run) -> tuple[ModelMessage, ...]:
    """The messages of the next request: `transform_context`, then the window, then `convert_to_llm`."""
    messages = await _transformed(run, overflow=False)
    budget = _smaller(run.options.window.max_tokens, run.state.budget)
    if budget:
        fitted = fit(messages, budget - _overhead(run), run.options.window)
        _tell_once(run, messages, fitted)
        messages = fitted.messages
    return _converted(run, messages)


async def shrink_after_overflow(run: Run, model: Model) -> tuple[ModelMessage, ...]:
    """The same, after the service said that it was too long: less, now and in later turns; the history stays."""
    messages = run.history.messages
    overhead = _overhead(run)
    refused = _weigh(messages) + overhead
    shown = await _transformed(run, overflow=True)
    wanted = run.options.window.overflow_tokens or min(refused, known_model_info(model).context_window) // 2
    if _weigh(shown) + overhead > wanted:
        run.state.budget = wanted
        fitted = fit(shown, wanted - overhead, run.options.window)
    else:
        fitted = FittedContext(tuple(shown), _weigh(shown), len(messages) - len(shown))
    _tell(run, messages, fitted, "overflow")
    return _converted(run, fitted.messages)


async def _transformed(run: Run, *, overflow: bool) -> Sequence[Message]:
    messages = run.history.messages
    if run.options.transform_context is None:
        return messages
    return await run.options.transform_context(messages, overflow)


def _converted(run: Run, messages: Sequence[Message]) -> tuple[ModelMessage, ...]:
    if last_reply_failed(messages):
        # Asked again, a model must not take its own broken words for the beginning of its answer.
        messages = messages[:-1]
    convert = run.options.convert_to_llm
    # Healing drops what is not for the model as well; a long conversation is not walked twice for nothing.
    if convert is to_llm:
        return run.progress.normaliser.normalise(messages)
    return run.progress.normaliser.normalise(
        [converted for each in messages if (converted := convert(each)) is not None]
    )


def _tell_once(run: Run, messages: Sequence[Message], fitted: FittedContext) -> None:
    """A window that is full stays so: what is left out is told when it grows, and not every turn."""
    left_out = (fitted.dropped, fitted.tokens < _weigh(messages))
    if left_out > run.progress.left_out:
        run.progress.left_out = left_out
        _tell(run, messages, fitted, "window")


def _tell(run: Run, messages: Sequence[Message], fitted: FittedContext, reason: Literal["overflow", "window"]) -> None:
    run.bus.publish(CompactionStart(reason=reason, tokens=_weigh(messages)))
    run.bus.publish(CompactionEnd(reason=reason, dropped=fitted.dropped, tokens=fitted.tokens))


def _overhead(run: Run) -> int:
    return estimate_overhead(run.state.system, specs_of(run.tools))


def _weigh(messages: Sequence[Message]) -> int:
    return sum(map(estimate_message, messages))


def _smaller(*budgets: int) -> int:
    """The smallest of the budgets that are set; 0 when none is."""
    return min((each for each in budgets if each), default=0)
