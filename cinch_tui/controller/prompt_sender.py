"""Prompts, steering and follow-up messages for the agent, and the queue of those not delivered yet."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.user_input import UserInput, join_inputs, user_input_of
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cinch_tui.controller.chat_session import ChatSession
    from cinch_tui.controller.parallel_run import ParallelRun
    from cinch_tui.widgets.queue_line import QueueLine
    from harness.events import Event
    from harness.inbox import Queue
    from harness.messages import UserContent, UserMessage

FOLLOW_UP = "afterwards"
ALREADY_DELIVERED = "The message was already delivered."


class EditedMessage(Struct, frozen=True):
    """A queued message that is being edited in the prompt."""

    message: UserMessage
    queue: Queue
    place: int
    """Its index in the queue."""


class MessageQueue:
    def __init__(self, controller: ChatSession) -> None:
        self._controller = controller
        self._edited: EditedMessage | None = None

    def receive(self, event: Event) -> None:
        """Show the queue after events that may have changed it; subscribed to the agent's bus."""
        from harness.events import AgentEnd, MessageEnd
        from harness.messages import UserMessage

        is_delivered = isinstance(event, MessageEnd) and isinstance(event.message, UserMessage)
        if is_delivered or isinstance(event, AgentEnd):
            self.show()

    def show(self) -> None:
        from cinch_tui.widgets.queue_line import NEXT, WaitingRow

        rows = [
            WaitingRow(message.id, kind, user_input_of(message).text)
            for kind, queue in self._queues().items()
            for message in queue.messages
        ]
        view = self._controller.view
        view.widgets.queue.show(rows)
        view.prompt.something_waits = bool(rows)
        view.prompt.steering_waits = any(row.kind == NEXT for row in rows)

    def recall(self) -> bool:
        """Move all queued messages back into the prompt; return True if there were any."""
        drained = self._controller.agent.drain_queues()
        if drained:
            self._controller.view.prompt.restore(join_inputs([user_input_of(message) for message in drained]))
        self.show()
        return bool(drained)

    def apply(self, request: QueueLine.ActionRequested) -> None:
        """Edit, remove or move a queued message, as the user asked in the queue line."""
        for queue in self._queues().values():
            if queue.place(request.id) is not None:
                self._change(queue, request)
                self.show()
                return
        self._controller.app.notify(ALREADY_DELIVERED)
        self.show()

    def _change(self, queue: Queue, request: QueueLine.ActionRequested) -> None:
        match request.action:
            case "edit":
                self._edit(queue, request.id)
            case "remove":
                if message := queue.remove(request.id):
                    self._controller.add_to_history(user_input_of(message))
            case "earlier":
                queue.move(request.id, -1)
            case "later":
                queue.move(request.id, 1)
            case "switch":
                self._switch(queue, request.id)

    def _switch(self, queue: Queue, message_id: str) -> None:
        """Turn a steering message into a follow-up, or the other way round."""
        inbox = self._controller.agent.inbox
        if message := queue.remove(message_id):
            (inbox.follow_up if queue is inbox.steering else inbox.steering).put(message)

    def _edit(self, queue: Queue, message_id: str) -> None:
        """Move a message to the prompt; out of the queue, so that a half-edited one is never delivered."""
        self.cancel_edit()
        place = queue.place(message_id)
        message = queue.remove(message_id)
        if message is not None:
            self._edited = EditedMessage(message, queue, place or 0)
            self._controller.view.prompt.revise(user_input_of(message))

    def finish_edit(self, user_input: UserInput) -> None:
        """Put the edited message back in its place, or send it if the run has ended."""
        from harness.agent.arguments import user_messages

        edited, self._edited = self._edited, None
        if edited is None:
            return
        if not user_input.text.strip():
            self._controller.add_to_history(user_input_of(edited.message))
        elif self._controller.is_running:
            for message in user_messages(user_input.prompt):
                edited.queue.put(message, edited.place)
        else:
            self._controller.view.send(user_input)
        self.show()

    def cancel_edit(self) -> None:
        edited, self._edited = self._edited, None
        if edited is None:
            return
        if self._controller.is_running:
            edited.queue.put(edited.message, edited.place)
        else:
            self._controller.view.prompt.restore(user_input_of(edited.message))
        self.show()

    def _queues(self) -> dict[str, Queue]:
        from cinch_tui.widgets.queue_line import NEXT

        inbox = self._controller.agent.inbox
        return {NEXT: inbox.steering, FOLLOW_UP: inbox.follow_up}


class PromptSender:
    def __init__(self, controller: ChatSession) -> None:
        self._controller = controller
        self.ready = asyncio.Event()
        """Set once the agent exists; prompts submitted before wait for it."""
        self._one_at_a_time = asyncio.Lock()
        self.parallel_run: ParallelRun | None = None
        """Models that get the next prompt instead of the session's model."""
        self.queue = MessageQueue(controller)

    async def run(self, user_input: UserInput | None) -> None:
        """Prompt the agent, or continue with None, and wait for the end of the run.

        Prompts submitted before the agent exists wait for it. What could not be sent goes back into the prompt.
        """
        await self.ready.wait()
        async with self._one_at_a_time:
            await self._prompt(user_input)

    async def _prompt(self, user_input: UserInput | None) -> None:
        controller = self._controller
        try:
            await self._send(user_input)
            await controller.hand_off_if_due()
        except CinchError as error:
            controller.notice(str(error), "error")
            if user_input is not None:
                controller.view.prompt.restore(user_input)
        controller.return_queued()
        await controller.show_branch()

    async def _send(self, user_input: UserInput | None) -> None:
        self._controller.check_writable()
        if user_input is None:
            await self._controller.agent.continue_run()
            return
        if self.parallel_run is None:
            if user_input.use is not None:
                await user_input.use.run(self._report)
            else:
                result = await self._controller.agent.prompt(await self._with_files(user_input))
                if result.rejection:
                    self._controller.view.prompt.restore(user_input)
            return
        try:
            await self.parallel_run.ask(await self._with_files(user_input))
        finally:
            self.parallel_run = None

    def steer(self, user_input: UserInput) -> None:
        self._queue(user_input, self._controller.agent.steer)

    def follow_up(self, user_input: UserInput) -> None:
        self._queue(user_input, self._controller.agent.follow_up)

    def _queue(self, user_input: UserInput, send: Callable[[str | tuple[UserContent, ...]], None]) -> None:
        if user_input.may_mention:
            self._controller.app.run_worker(partial(self._queue_with_files, user_input, send), group="attach")
        else:
            send(user_input.prompt)
            self.queue.show()

    async def _queue_with_files(
        self, user_input: UserInput, send: Callable[[str | tuple[UserContent, ...]], None]
    ) -> None:
        try:
            prompt = await self._with_files(user_input)
        except CinchError as error:
            self._controller.notice(str(error), "error")
            self._controller.view.prompt.restore(user_input)
            return
        if self._controller.is_running:
            send(prompt)
            self.queue.show()
        else:
            # The run ended while the files were read.
            self._controller.view.prompt.restore(user_input)

    async def _with_files(self, user_input: UserInput) -> str | tuple[UserContent, ...]:
        return await user_input.with_files(self._controller.agent, self._report, self._controller.mcp)

    def _report(self, problem: str) -> None:
        self._controller.notice(problem, "warning")
