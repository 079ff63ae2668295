"""Input that only the user may type into a background job: its terminal opens when the program asks for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from harness.events import Event, JobInputRequested

if TYPE_CHECKING:
    from cinch_tui.controller.chat_session import ChatSession


class JobPrompts:
    """Subscribe `receive` to an agent's bus."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session

    def receive(self, event: Event) -> None:
        if isinstance(event, JobInputRequested):
            self._session.app.run_worker(partial(self._open, event.job_id), group="job-input")

    async def _open(self, job_id: str) -> None:
        # Late import: few programs ask for a password.
        from cinch_tui.screens.dialog import Dialog
        from cinch_tui.screens.job_terminal import JobTerminal

        app, job = self._session.app, self._session.agent.jobs.find(job_id)
        terminal = job.spec.input if job else None
        # A notice says how to open it later.
        is_open = isinstance(app.screen, Dialog)
        if job is not None and terminal is not None and terminal.hides_input and not is_open:
            await app.push_screen_wait(JobTerminal(job, terminal, grace=self._session.grace(), is_prompt=True))
