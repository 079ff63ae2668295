"""What was said to the agent and waits: shown, changed, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cinch_tui.user_input import Words, joined, words_in
from harness.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.widgets.queue_line import QueueLine
    from harness.events import Event
    from harness.inbox import Queue
    from harness.messages import UserMessage

AFTERWARDS = "afterwards"
TOO_LATE = "The agent has heard that already."


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message that is being changed in the prompt, and the place that it has."""

    message: UserMessage
    queue: Queue
    place: int


class MessageQueue:
    def __init__(self, controller: SessionController) -> None:
        self._controller = controller
        self._held: QueuedMessage | None = None

    def follow(self, event: Event | None) -> None:
        """Show what waits, if the event, or none, may have changed it."""
        from harness.events import AgentEnd, MessageEnd
        from harness.messages import UserMessage

        heard = isinstance(event, MessageEnd) and isinstance(event.message, UserMessage)
        if event is None or heard or isinstance(event, AgentEnd):
            self._show()

    def _show(self) -> None:
        from cinch_tui.widgets.queue_line import NEXT, WaitingRow

        rows = [
            WaitingRow(message.id, kind, words_in(message).text)
            for kind, queue in self._queues().items()
            for message in queue.messages
        ]
        screen = self._controller.screen
        screen.widgets.queue.show(rows)
        screen.prompt.something_waits = bool(rows)
        screen.prompt.steering_waits = any(row.kind == NEXT for row in rows)

    def take_back(self) -> bool:
        """Put all that waits back into the prompt; whether there was anything."""
        waiting = self._controller.agent.drain_queues()
        if waiting:
            self._controller.screen.prompt.restore(joined([words_in(message) for message in waiting]))
        self._show()
        return bool(waiting)

    def obey(self, asked: QueueLine.Asked) -> None:
        """Do what was asked for with one of them."""
        for queue in self._queues().values():
            if queue.place(asked.id) is not None:
                self._change(queue, asked)
                self._show()
                return
        self._controller.screen.notify(TOO_LATE)
        self._show()

    def _change(self, queue: Queue, asked: QueueLine.Asked) -> None:
        match asked.wish:
            case "edit":
                self._edit(queue, asked.id)
            case "remove":
                if message := queue.remove(asked.id):
                    self._controller.set_aside(words_in(message))
            case "earlier":
                queue.move(asked.id, -1)
            case "later":
                queue.move(asked.id, 1)
            case "switch":
                self._switch(queue, asked.id)

    def _switch(self, queue: Queue, message_id: str) -> None:
        """What was to be heard next waits for the end, and the other way round."""
        inbox = self._controller.agent.inbox
        if message := queue.remove(message_id):
            (inbox.follow_up if queue is inbox.steering else inbox.steering).put(message)

    def _edit(self, queue: Queue, message_id: str) -> None:
        """It does not wait meanwhile: what is half changed must not be heard. What was being changed waits again."""
        self.left_as_it_was()
        place = queue.place(message_id)
        message = queue.remove(message_id)
        if message is not None:
            self._held = QueuedMessage(message, queue, place or 0)
            self._controller.screen.prompt.revise(words_in(message))

    def revised(self, words: Words) -> None:
        """What is in the prompt goes to the place of what it was; where no run is on any more, to the agent."""
        from harness.agent.prompt import user_messages

        held, self._held = self._held, None
        if held is None:
            return
        if not words.text.strip():
            self._controller.set_aside(words_in(held.message))
        elif self._controller.is_running:
            for message in user_messages(words.prompt):
                held.queue.put(message, held.place)
        else:
            self._controller.screen.send(words)
        self._show()

    def left_as_it_was(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        if self._controller.is_running:
            held.queue.put(held.message, held.place)
        else:
            self._controller.screen.prompt.restore(words_in(held.message))
        self._show()

    def _queues(self) -> dict[str, Queue]:
        from cinch_tui.widgets.queue_line import NEXT

        inbox = self._controller.agent.inbox
        return {NEXT: inbox.steering, AFTERWARDS: inbox.follow_up}
