"""What a reply used: priced, counted, and told when the window fills."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Literal

from harness.agent.cost import priced
from harness.agent.run import Run, known_model_info
from harness.events import ContextWarning, UsageUpdate
from harness.messages import AssistantMessage
from harness.ports.provider import Model

logger = logging.getLogger(__name__)

WARNINGS: tuple[tuple[Literal["critical", "warn", "advise"], float], ...] = (
    ("critical", 0.95),
    ("warn", 0.80),
    ("advise", 0.60),
)


async def load_price(run: Run, model: Model, reply: AssistantMessage) -> None:
    """Wait until the model's price is known, where something depends on it: a hook that counts, or, when this reply is
    not the run's last, a limit on cost."""
    goes_on = bool(reply.tool_calls or run.inbox)
    if run.hooks.counts_cost or (goes_on and any(each.meter.limits.max_cost for each in run.ancestors)):
        try:
            await model.info.load()
        except Exception:  # who looks them up is a stranger's code; the reply is there, its price is not known
            logger.exception("the price of %s could not be looked up", model.spec.name)


def with_cost(reply: AssistantMessage, model: Model) -> AssistantMessage:
    return replace(reply, usage=priced(reply.usage, known_model_info(model).price))


def record_usage(run: Run, model: Model, reply: AssistantMessage) -> None:
    """Count what a reply used, for the run and for the agent, and for those they work for."""
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
