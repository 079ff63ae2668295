"""What tests of the loop say often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from harness.agent import Agent
from harness.messages import ToolResult, UserMessage
from providers.demo import Call, Reply


def calls(*names: str, **arguments: str) -> Reply:
    """A reply that calls these tools, each with these arguments."""
    return Reply(tuple(Call(name, dict(arguments)) for name in names))


def results_of(agent: Agent) -> list[ToolResult]:
    return [message for message in agent.history if isinstance(message, ToolResult)]


def texts_of(agent: Agent) -> list[str]:
    """What the agent heard, in order."""
    return [message.text for message in agent.history if isinstance(message, UserMessage)]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)
