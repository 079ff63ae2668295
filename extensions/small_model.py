"""One question to a model outside the conversation of an agent."""

from __future__ import annotations

from collections.abc import Callable

from harness.agent.agent import Agent
from harness.agent.limits import Limits, with_price
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.agent.run_state import AgentResult
from harness.messages import ModelSpec, Usage
from harness.ports.provider import Model

_MAX_TOKENS = 1_000


async def ask_once(
    model: Model, system_prompt: str, text: str, on_usage: Callable[[ModelSpec, Usage], None]
) -> AgentResult:
    """Ask a model once, without tools and retries, and close it.

    Args:
        model: The model.
        system_prompt: Instructions.
        text: The question.
        on_usage: Called with the tokens and the cost of the answer.
    """
    options = AgentOptions(limits=Limits(max_turns=1), retry=RetryPolicy(max_retries=0), max_tokens=_MAX_TOKENS)
    try:
        result = await Agent(model, (), system_prompt, options).prompt(text)
        usage = with_price(result.usage, (await model.info.load()).price)
    finally:
        await model.provider.close()
    if usage != Usage():
        on_usage(model.spec, usage)
    return result
