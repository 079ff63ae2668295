"""Side questions, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.errors import CinchError

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.messages import AssistantMessage


class Asides:
    def __init__(self) -> None:
        self._asking: asyncio.Task[AssistantMessage] | None = None

    async def ask(self, agent: Agent, question: str, tell: Callable[[str], None]) -> str:
        """Have a question answered, and the one before it no more; what is wrong with the ending, if anything is."""
        self.stop()
        self._asking = asking = asyncio.create_task(agent.ask_side_question(question, tell))
        try:
            await asyncio.wait([asking])
            if asking.cancelled():
                return "Stopped."
            asking.result()
        except CinchError as error:
            return str(error)
        finally:
            asking.cancel()
        return ""

    def stop(self) -> bool:
        """Whether there was anything to stop."""
        return self._asking is not None and self._asking.cancel()
