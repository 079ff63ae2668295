"""Conversation history in memory.

Guarantees that every tool call has a result: after a reply with calls it accepts nothing but their results, which
`harness.agent.tool_calls` supplies on every path, cancellation included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import chain

from harness.messages import AssistantMessage, CustomMessage, Message, ToolCall, ToolResult, UserMessage


class History:
    """Messages of a conversation, oldest first."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.replace(messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def at_rest(self) -> bool:
        """True if nothing is pending for the model: the history is empty or ends with a successful reply."""
        messages = (each for each in reversed(self._messages) if not isinstance(each, CustomMessage))
        last = next(messages, None)
        return last is None or (isinstance(last, AssistantMessage) and last.stop_reason not in ("error", "aborted"))

    def since(self, count: int) -> tuple[Message, ...]:
        """Return the messages added after the first `count`."""
        return tuple(self._messages[count:])

    def append(self, message: Message) -> None:
        """Add a message.

        Raises:
            ValueError: A tool result has no open call, or another message arrives while calls are open.
        """
        if isinstance(message, ToolResult):
            if self._open.pop(message.call_id, None) is None:
                raise ValueError(f"no open call {message.call_id!r} for this result")
        elif self._open:
            raise ValueError(f"calls without a result: {', '.join(self._open)}")
        if isinstance(message, AssistantMessage):
            self._open = {call.id: call for call in message.tool_calls}
            self._call_ids |= self._open.keys()
        self._messages.append(message)

    def extend(self, messages: Iterable[Message]) -> None:
        """Add all messages or, if a call has no result or a result no call, none.

        Raises:
            ValueError: A call has no result among the messages, or a result has no call before it.
        """
        trial, messages = History(), tuple(messages)
        for message in messages:
            trial.append(message)
        if trial._open:
            raise ValueError(f"calls without a result: {', '.join(trial._open)}")
        for message in messages:
            self.append(message)

    def replace(self, messages: Iterable[Message]) -> None:
        """Replace all messages."""
        self._messages: list[Message] = list(messages)
        self._open: dict[str, ToolCall] = {}
        calls = (each.tool_calls for each in self._messages if isinstance(each, AssistantMessage))
        self._call_ids = {call.id for call in chain.from_iterable(calls)}

    @property
    def call_ids(self) -> Set[str]:
        """Ids of all calls so far; a new call needs another id."""
        return self._call_ids

    def last_reply(self) -> AssistantMessage | None:
        return next((each for each in reversed(self._messages) if isinstance(each, AssistantMessage)), None)

    @property
    def context(self) -> int:
        """Tokens in the context window after the last reply that reported its usage."""
        replies = (each for each in reversed(self._messages) if isinstance(each, AssistantMessage))
        return next((each.usage.context for each in replies if each.usage.context), 0)

    def prompts(self) -> tuple[UserMessage, ...]:
        """Return the messages of the user, oldest first."""
        return tuple(each for each in self._messages if isinstance(each, UserMessage) and not each.synthetic)
