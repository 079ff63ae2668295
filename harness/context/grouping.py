"""Groups of messages that must stay together in a context: a reply with the results of its calls, all others alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, UserMessage

MessageGroup: TypeAlias = list[Message]


def message_groups(messages: Sequence[Message]) -> list[MessageGroup]:
    """Group messages that must stay together, because providers reject a call without its result.

    Custom messages stay with their neighbors.
    """
    groups: list[MessageGroup] = []
    due: set[str] = set()
    for message in messages:
        if groups and (_belongs(message, due) or all(isinstance(each, CustomMessage) for each in groups[-1])):
            groups[-1].append(message)
        else:
            groups.append([message])
        if isinstance(message, AssistantMessage):
            due = {call.id for call in message.tool_calls}
        elif isinstance(message, ToolResult):
            due.discard(message.call_id)
    return groups


def count_groups(groups: Sequence[MessageGroup], messages: int) -> int:
    """Return how many groups hold the first `messages` messages."""
    reached = 0
    for at, group in enumerate(groups):
        if reached >= messages:
            return at
        reached += len(group)
    return len(groups)


def _belongs(message: Message, due: set[str]) -> bool:
    """Return True if the message stays with the previous ones; `due` are the calls without a result so far."""
    return isinstance(message, ToolResult | CustomMessage) or (bool(due) and isinstance(message, UserMessage))
