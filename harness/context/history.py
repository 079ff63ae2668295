"""The conversation in memory.

Promises that every tool call has an answer: after a reply with calls it takes nothing but their results. `act` supplies
them on every path, also when a turn is cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from harness.messages import AssistantMessage, CustomMessage, Message, ToolCall, ToolResult, UserMessage


class History:
    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = list(messages)
        self._open: dict[str, ToolCall] = {}
        self._call_ids = _call_ids(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def last(self) -> Message | None:
        return self._messages[-1] if self._messages else None

    @property
    def at_rest(self) -> bool:
        """True when nothing is waiting for the model: no messages, or the last word is the assistant's. A reply that
        failed or was aborted is no word."""
        spoken = (each for each in reversed(self._messages) if not isinstance(each, CustomMessage))
        last = next(spoken, None)
        return last is None or (isinstance(last, AssistantMessage) and last.stop_reason not in ("error", "aborted"))

    def since(self, count: int) -> tuple[Message, ...]:
        """The messages added after the first `count`."""
        return tuple(self._messages[count:])

    def append(self, message: Message) -> None:
        """Add a message; a reply opens one place for each of its calls, a tool result fills its own.

        Raises:
            ValueError: a tool result that answers no open call, or anything else while calls are open.
        """
        if isinstance(message, ToolResult):
            if self._open.pop(message.call_id, None) is None:
                raise ValueError(f"no open call {message.call_id!r} to answer")
        elif self._open:
            raise ValueError(f"calls without an answer: {', '.join(self._open)}")
        if isinstance(message, AssistantMessage):
            self._open = {call.id: call for call in message.tool_calls}
            self._call_ids |= self._open.keys()
        self._messages.append(message)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add all messages or, if a call has no result or a result no call, none.

        Raises:
            ValueError: A call has no result among the messages, or a result no call before it.
        """
        trial, messages = History(), tuple(messages)
        for message in messages:
            trial.append(message)
        if trial._open:
            raise ValueError(f"calls without an answer: {', '.join(trial._open)}")
        for message in messages:
            self.append(message)

    def replace(self, messages: Iterable[Message]) -> None:
        """Start over with other messages."""
        self._messages = list(messages)
        self._open = {}
        self._call_ids = _call_ids(self._messages)

    @property
    def call_ids(self) -> Set[str]:
        """The ids of all calls so far; a new call must have another."""
        return self._call_ids

    def last_reply(self) -> AssistantMessage | None:
        return next((each for each in reversed(self._messages) if isinstance(each, AssistantMessage)), None)

    @property
    def context(self) -> int:
        """Tokens of the last reply and what it was asked with; one that was stopped tells nothing of them."""
        replies = (each for each in reversed(self._messages) if isinstance(each, AssistantMessage))
        return next((each.usage.context for each in replies if each.usage.context), 0)

    def prompts(self) -> tuple[UserMessage, ...]:
        """What the person said, oldest first."""
        return tuple(each for each in self._messages if isinstance(each, UserMessage) and not each.synthetic)


def _call_ids(messages: Iterable[Message]) -> set[str]:
    return {call.id for each in messages if isinstance(each, AssistantMessage) for call in each.tool_calls}
