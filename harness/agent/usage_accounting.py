"""Usage and cost accounting, and context-window warnings."""

from __future__ import annotations

import logging
from typing import Literal

from msgspec.structs import replace

from harness.agent.cost import with_price
from harness.agent.run import Run
from harness.events import ContextWarning, UsageUpdate
from harness.messages import AssistantMessage
from harness.ports.provider import Model, known_model_info

logger = logging.getLogger(__name__)

WARNINGS: tuple[tuple[Literal["critical", "warn", "advise"], float], ...] = (
    ("critical", 0.95),
    ("warn", 0.80),
    ("advise", 0.60),
)


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


def record_usage(run: Run, model: Model, reply: AssistantMessage) -> None:
    """Count the usage of a reply for the run, its agent, and the agents they work for."""
    facts = known_model_info(model)
    for each in run.ancestors:
        for ledger in (each.meter.ledger, each.state.ledger):
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
