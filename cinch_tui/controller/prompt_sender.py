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
    """`parallel_run`, where there is one, has the next prompt."""

    def __init__(self, controller: SessionController) -> None:
        self._controller = controller
        self._ready = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.parallel_run: ParallelRun | None = None
        self.queue = MessageQueue(controller)

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
        controller = self._controller
        try:
            await self._say(words)
        except CinchError as error:
            controller.notice(str(error), "error")
            if words is not None:
                controller.screen.prompt.restore(words)
        if self.queue.take_back():
            controller.notice("What you typed meanwhile is back in the prompt.")
        await controller.show_branch()

    async def _say(self, words: Words | None) -> None:
        """To the agent, or, where that was asked for, to several models at once."""
        if words is None:
            await self._controller.agent.continue_run()
            return
        if self.parallel_run is None:
            await self._controller.agent.prompt(await self._with_files(words))
            return
        try:
            await self.parallel_run.ask(await self._with_files(words))
        finally:
            self.parallel_run = None

    def steer(self, words: Words) -> None:
        self._send_meanwhile(words, self._controller.agent.steer)

    def follow_up(self, words: Words) -> None:
        self._send_meanwhile(words, self._controller.agent.follow_up)

    def _send_meanwhile(self, words: Words, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        if "@" in words.text:
            self._controller.screen.run_worker(self._send_with_files(words, send), group="attach")
        else:
            send(words.prompt)
            self.queue.follow(None)

    async def _send_with_files(self, words: Words, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        prompt = await self._with_files(words)
        if self._controller.is_running:
            send(prompt)
            self.queue.follow(None)
        else:
            # The run ended meanwhile.
            self._controller.screen.prompt.restore(words)

    async def _with_files(self, words: Words) -> str | tuple[UserContent, ...]:
        """What the words say, with the files that they name."""
        if "@" not in words.text:
            return words.prompt
        from cinch_tui.attached_files import attach_files

        files = await attach_files(words.text, self._controller.agent)
        for reason in files.skipped:
            self._controller.notice(reason, "warning")
        return words.followed_by(files.content)
