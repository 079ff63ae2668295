"""Runs that begin because a background job has ended, if the user turned that on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness import events
from harness.messages import UserMessage

if TYPE_CHECKING:
    from cinch_tui.agent_session import AgentSession

DELAY_S = 1.0
"""Seconds in which the ends of several jobs start one run."""
MOST_IN_A_ROW = 5
"""Runs of this kind without a message of the user in between: a model may start a job in each."""


class JobWake:
    """Subscribe `receive` to an agent's bus.

    Args:
        session: The session.
        start: Starts a run without a message of the user.
    """

    def __init__(self, session: AgentSession, start: Callable[[], None]) -> None:
        self._session = session
        self._start = start
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def receive(self, event: events.Event) -> None:
        match event:
            case events.MessageEnd(message=UserMessage(synthetic=False)):
                self._count = 0
            case events.JobEnded(state=state) if state != "killed" and self._session.settings.tools.bash_wake_on_exit:
                self._wake_later()
            case _:
                pass

    def _wake_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(DELAY_S, self._wake)

    def _wake(self) -> None:
        session = self._session
        # A run that is active delivers the message itself.
        if session.is_running or session.assembly.is_read_only or not session.agent.inbox.has_notices:
            return
        self._count += 1
        if self._count <= MOST_IN_A_ROW:
            self._start()
        elif self._count == MOST_IN_A_ROW + 1:
            session.notice(
                f"Background jobs have started {MOST_IN_A_ROW} runs in a row, so this one starts none. "
                "The next prompt reports them to the model.",
                "warning",
            )
