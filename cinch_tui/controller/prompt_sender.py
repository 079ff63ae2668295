"""Sending to the agent: a prompt, a steering message, or a follow-up message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cinch_tui.controller.message_queue import MessageQueue
from cinch_tui.user_input import UserInput
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cinch_tui.controller.parallel_run import ParallelRun
    from cinch_tui.controller.view import ControllerContext
    from harness.messages import UserContent


class PromptSender:
    def __init__(self, controller: ControllerContext) -> None:
        self._controller = controller
        self._ready = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.parallel_run: ParallelRun | None = None
        """Models that get the next prompt instead of the session's model."""
        self.queue = MessageQueue(controller)

    @property
    def is_ready(self) -> bool:
        """True once the agent exists, so that prompts are sent at once."""
        return self._ready.is_set()

    async def until_ready(self) -> None:
        await self._ready.wait()

    def begin(self) -> None:
        """Send the prompts that were submitted before the agent existed."""
        self._ready.set()

    async def run(self, words: UserInput | None) -> None:
        """Prompt the agent, or continue with None, and wait for the end of the run.

        Prompts submitted before the agent exists wait for it. What could not be sent goes back into the prompt.
        """
        await self.until_ready()
        async with self._one_at_a_time:
            await self._prompt(words)

    async def _prompt(self, words: UserInput | None) -> None:
        controller = self._controller
        try:
            await self._send(words)
        except CinchError as error:
            controller.notice(str(error), "error")
            if words is not None:
                controller.view.prompt.restore(words)
        if self.queue.take_back():
            controller.notice("What you typed meanwhile is back in the prompt.")
        await controller.show_branch()

    async def _send(self, words: UserInput | None) -> None:
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

    def steer(self, words: UserInput) -> None:
        self._queue(words, self._controller.agent.steer)

    def follow_up(self, words: UserInput) -> None:
        self._queue(words, self._controller.agent.follow_up)

    def _queue(self, words: UserInput, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        if "@" in words.text:
            self._controller.app.run_worker(self._queue_with_files(words, send), group="attach")
        else:
            send(words.prompt)
            self.queue.show()

    async def _queue_with_files(self, words: UserInput, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        prompt = await self._with_files(words)
        if self._controller.is_running:
            send(prompt)
            self.queue.show()
        else:
            # The run ended while the files were read.
            self._controller.view.prompt.restore(words)

    async def _with_files(self, words: UserInput) -> str | tuple[UserContent, ...]:
        """Return the prompt with the files it mentions."""
        if "@" not in words.text:
            return words.prompt
        from cinch_tui.attached_files import attach_files

        files = await attach_files(words.text, self._controller.agent)
        for reason in files.skipped:
            self._controller.notice(reason, "warning")
        return words.followed_by(files.content)
