"""Overlay of the context: summaries and stubs that models see instead of messages. The history keeps the messages."""

from __future__ import annotations

from collections.abc import Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from harness.messages import AssistantMessage, CustomMessage, Message, Text, UserMessage

EVICTED = Text("[Content removed from the context to save tokens]")


class Compaction(Struct, frozen=True):
    """A summary that replaces messages."""

    summary: UserMessage
    """The message that models see instead."""
    replaced: Set[str]
    """Ids of the messages, and of earlier summaries, that it replaces."""


class ContextOverlay(Struct, frozen=True):
    """Changes of a conversation for models."""

    compactions: tuple[Compaction, ...] = ()
    """Summaries, in the order in which they were made."""
    evicted: Set[str] = frozenset()
    """Ids of the messages whose content is replaced by a stub."""

    def apply(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages for models. Pure; ids that no message has are ignored."""
        if self.evicted:
            messages = [_stub(each) if each.id in self.evicted else each for each in messages]
        for compaction in self.compactions:
            replaced = compaction.replaced
            place = next((index for index, each in enumerate(messages) if each.id in replaced), None)
            if place is not None:
                kept = (each for each in messages[place:] if each.id not in replaced)
                messages = [*messages[:place], compaction.summary, *kept]
        return messages


def _stub(message: Message) -> Message:
    """Return a message without its content; a reply keeps its calls, which have results."""
    if isinstance(message, CustomMessage):
        return message
    if isinstance(message, AssistantMessage):
        return replace(message, content=(EVICTED, *message.tool_calls))
    return replace(message, content=(EVICTED,))
