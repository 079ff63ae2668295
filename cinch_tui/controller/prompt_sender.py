"""What is said to the agent: now, to the run that is on, or for its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cinch_tui.controller.message_queue import MessageQueue
from cinch_tui.user_input import Words
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cinch_tui.controller.controller import SessionController
    from cinch_tui.controller.parallel_run import ParallelRun
    from harness.messages import UserContent


class PromptSender:
    """`contest`, where there is one, has the next prompt."""

    def __init__(self, desk: SessionController) -> None:
        self._desk = desk
        self._ready = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.contest: ParallelRun | None = None
        self.waiting = MessageQueue(desk)

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
            await self._desk.agent.prompt(await self._with_files(words))
            return
        try:
            await self.contest.ask(await self._with_files(words))
        finally:
            self.contest = None

    def steer(self, words: Words) -> None:
        self._send_meanwhile(words, self._desk.agent.steer)

    def follow_up(self, words: Words) -> None:
        self._send_meanwhile(words, self._desk.agent.follow_up)

    def _send_meanwhile(self, words: Words, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        if "@" in words.text:
            self._desk.screen.run_worker(self._send_with_files(words, send), group="attach")
        else:
            send(words.prompt)
            self.waiting.follow(None)

    async def _send_with_files(self, words: Words, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        prompt = await self._with_files(words)
        if self._desk.is_running:
            send(prompt)
            self.waiting.follow(None)
        else:
            # The run ended meanwhile.
            self._desk.screen.prompt.restore(words)

    async def _with_files(self, words: Words) -> str | tuple[UserContent, ...]:
        """What the words say, with the files that they name."""
        if "@" not in words.text:
            return words.prompt
        from cinch_tui.attached_files import attach_files

        files = await attach_files(words.text, self._desk.agent)
        for reason in files.skipped:
            self._desk.notice(reason, "warning")
        return words.followed_by(files.content)
