"""What is said to the agent: now, to the run that is on, or for its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cinch_tui.desk.waiting import Waiting
from cinch_tui.words import Words
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.desk.branches import Contest
    from cinch_tui.desk.desk import Desk


class Talk:
    """`contest`, where there is one, has the next prompt."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ready = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.contest: Contest | None = None
        self.waiting = Waiting(desk)

    @property
    def is_ready(self) -> bool:
        """Whether what is sent goes to the agent at once."""
        return self._ready.is_set()

    async def until_ready(self) -> None:
        """Until there is an agent."""
        await self._ready.wait()

    def begin(self) -> None:
        """There is an agent: what was sent before goes to it."""
        self._ready.set()

    async def run(self, words: Words | None) -> None:
        """Prompt the agent, or with None let it go on, and wait for its end; what could not be said goes back into the
        prompt.

        Prompts that were sent before the agent was there wait for their turn.
        """
        await self.until_ready()
        async with self._one_at_a_time:
            await self._prompt(words)

    async def _prompt(self, words: Words | None) -> None:
        desk = self._desk
        try:
            await self._say(words)
        except CinchError as error:
            desk.notice(str(error), "error")
            if words is not None:
                desk.screen.prompt.restore(words)
        if self.waiting.take_back():
            desk.notice("What you typed meanwhile is back in the prompt.")
        await desk.show_branch()

    async def _say(self, words: Words | None) -> None:
        """To the agent, or, where that was asked for, to several models at once."""
        if words is None:
            await self._desk.agent.continue_run()
            return
        if self.contest is None:
            await self._desk.agent.prompt(words.prompt)
            return
        try:
            await self.contest.ask(words.prompt)
        finally:
            self.contest = None

    def steer(self, words: Words) -> None:
        self._desk.agent.steer(words.prompt)
        self.waiting.follow(None)

    def follow_up(self, words: Words) -> None:
        self._desk.agent.follow_up(words.prompt)
        self.waiting.follow(None)
