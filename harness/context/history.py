"""Conversation history in memory.

Guarantees that every tool call has a result: after a reply with calls it accepts nothing but their results, which
`harness.agent.tool_calls` supplies on every path, cancellation included.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set

from harness.messages import AssistantMessage, CustomMessage, Message, ToolCall, ToolResult, Usage, UserMessage


class StoredMessages(Sequence[Message]):
    """Messages of a long session, some of which are read from disk on every access."""

    @property
    @abstractmethod
    def outline(self) -> Sequence[Message]:
        """The messages as they are in memory: long texts of those on disk are truncated."""

    @property
    @abstractmethod
    def on_disk(self) -> Set[int]:
        """Indexes of the messages that are not completely in memory."""

    @property
    @abstractmethod
    def call_ids(self) -> Set[str]:
        """Ids of all calls."""

    @property
    @abstractmethod
    def usage(self) -> Sequence[tuple[str, Usage]]:
        """Usage of the replies, each with the model as `provider/model`."""

    @abstractmethod
    def size(self, index: int) -> int:
        """Return the approximate length of a message on disk, in characters."""

    @abstractmethod
    def load(self) -> list[Message]:
        """Read all messages, and keep them in memory."""


def outline_of(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages without reading any from disk; long texts may be truncated."""
    return messages.outline if isinstance(messages, StoredMessages) else messages


def usage_of(messages: Sequence[Message]) -> Sequence[tuple[str, Usage]]:
    """Return the usage of the replies, each with the model as `provider/model`."""
    if isinstance(messages, StoredMessages):
        return messages.usage
    replies = (each for each in messages if isinstance(each, AssistantMessage))
    return [(f"{each.provider}/{each.model}", each.usage) for each in replies]


def call_ids_of(messages: Iterable[Message]) -> set[str]:
    replies = (each for each in messages if isinstance(each, AssistantMessage))
    return {call.id for reply in replies for call in reply.tool_calls}


class History:
    """Messages of a conversation, oldest first."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self.replace(messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages) if self._stored is None else iter(self.since(0))

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages; those on disk are read, which `load` does without blocking the event loop."""
        if self._stored is not None:
            self._read(self._stored)
        return tuple(self._messages)

    @property
    def outline(self) -> Sequence[Message]:
        """The messages as they are in memory: long texts of those on disk are truncated."""
        return self._messages

    @property
    def stored(self) -> StoredMessages | None:
        """The first messages, if some of them are not in memory."""
        return self._stored

    async def load(self) -> None:
        """Read the messages that are not in memory, in a thread."""
        if self._stored is not None:
            await asyncio.to_thread(self._read, self._stored)

    def _read(self, stored: StoredMessages) -> None:
        messages = stored.load()
        if self._stored is stored:
            self._messages[: len(messages)] = messages
            self._stored = None

    def message_at(self, index: int) -> Message:
        """Return a message, which is read from disk if it is not in memory."""
        stored = self._stored
        return self._messages[index] if stored is None or index >= len(stored) else stored[index]

    @property
    def at_rest(self) -> bool:
        """True if nothing is pending for the model: the history is empty or ends with a successful reply."""
        messages = (each for each in reversed(self._messages) if not isinstance(each, CustomMessage))
        last = next(messages, None)
        return last is None or (isinstance(last, AssistantMessage) and last.stop_reason not in ("error", "aborted"))

    def since(self, count: int) -> tuple[Message, ...]:
        """Return the messages added after the first `count`."""
        if self._stored is None:
            return tuple(self._messages[count:])
        return tuple(self.message_at(index) for index in range(count, len(self)))

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

    def replace(self, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._stored = messages if isinstance(messages, StoredMessages) and messages.on_disk else None
        self._messages: list[Message] = list(outline_of(messages))
        self._open: dict[str, ToolCall] = {}
        self._call_ids = set(messages.call_ids) if isinstance(messages, StoredMessages) else call_ids_of(self._messages)

    @property
    def call_ids(self) -> Set[str]:
        """Ids of all calls so far; a new call needs another id."""
        return self._call_ids

    def last_reply(self) -> AssistantMessage | None:
        places = (index for index in reversed(range(len(self))) if isinstance(self._messages[index], AssistantMessage))
        reply = self.message_at(place) if (place := next(places, None)) is not None else None
        return reply if isinstance(reply, AssistantMessage) else None

    @property
    def context(self) -> int:
        """Tokens in the context window after the last reply that reported its usage."""
        replies = (each for each in reversed(self._messages) if isinstance(each, AssistantMessage))
        return next((each.usage.context for each in replies if each.usage.context), 0)

    def prompts(self) -> tuple[UserMessage, ...]:
        """Return the messages of the user, oldest first."""
        places = (index for index, each in enumerate(self._messages) if is_prompt(each))
        return tuple(each for index in places if isinstance(each := self.message_at(index), UserMessage))


def is_prompt(message: Message) -> bool:
    """Return True for a message of the user, not one of the program."""
    return isinstance(message, UserMessage) and not message.synthetic
