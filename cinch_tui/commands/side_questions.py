"""Side questions: answered by the model with the current context, without a trace in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.errors import CinchError

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.messages import AssistantMessage


class SideQuestions:
    """Side questions of one front end, one at a time."""

    def __init__(self) -> None:
        self._task: asyncio.Task[AssistantMessage] | None = None

    async def ask(self, agent: Agent, question: str, on_text: Callable[[str], None]) -> str:
        """Ask a question instead of the current one; return why the answer is incomplete, empty if it is complete."""
        self.stop()
        self._task = task = asyncio.create_task(agent.ask_side_question(question, on_text))
        try:
            await asyncio.wait([task])
            if task.cancelled():
                return "Stopped."
            task.result()
        except CinchError as error:
            return str(error)
        finally:
            task.cancel()
        return ""

    def stop(self) -> bool:
        """Stop the answer; return True if there was one."""
        return self._task is not None and self._task.cancel()
