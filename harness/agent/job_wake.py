"""Runs that begin because a background job has ended while the agent was idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.errors import CinchError
from harness.events import Event, JobEnded, MessageEnd, Notice
from harness.messages import UserMessage

if TYPE_CHECKING:
    from harness.agent.agent import Agent

DELAY_S = 1.0
"""Seconds in which the ends of several jobs start one run."""
MOST_IN_A_ROW = 5
"""Runs of this kind without a message of the user in between: a model may start a job in each."""


class JobWake:
    """Subscribe `receive` to an agent, in the thread of its event loop.

    Args:
        agent: The agent.
        start: Starts a run without a message of the user; None for `Agent.continue_run`.
        is_enabled: Returns False while no run may start.
    """

    def __init__(
        self,
        agent: Agent,
        start: Callable[[], None] | None = None,
        is_enabled: Callable[[], bool] = lambda: True,
    ) -> None:
        self._agent = agent
        self._start = start or self._continue
        self._is_enabled = is_enabled
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._run: asyncio.Task[None] | None = None

    def receive(self, event: Event) -> None:
        """Start a run later if the event is the end of a job."""
        match event:
            case MessageEnd(message=UserMessage(synthetic=False)):
                self._count = 0
            case JobEnded(state=state) if state != "killed" and self._is_enabled():
                self._wake_later()
            case _:
                pass

    def _wake_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(DELAY_S, self._wake)

    def _wake(self) -> None:
        agent = self._agent
        # A run that is active delivers the message itself.
        if agent.is_running or not agent.inbox.has_notices or not self._is_enabled():
            return
        self._count += 1
        if self._count <= MOST_IN_A_ROW:
            self._start()
        elif self._count == MOST_IN_A_ROW + 1:
            text = (
                f"Background jobs have started {MOST_IN_A_ROW} runs in a row, so this one starts none. "
                "The next prompt reports them to the model."
            )
            agent.publish(Notice(text=text, level="warning"))

    def _continue(self) -> None:
        self._run = asyncio.create_task(self._run_to_end())

    async def _run_to_end(self) -> None:
        try:
            await self._agent.continue_run()
        except CinchError as error:
            self._agent.publish(Notice(text=f"The end of a job started no run: {error}", level="error"))
