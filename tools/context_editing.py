"""Turns of a conversation that the model may remove from its own context; for `prun` and `revert_to_state`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from harness.context.grouping import MessageGroup, message_groups
from harness.context.history import is_prompt
from harness.context.tokens import estimate_messages
from harness.messages import AssistantMessage, CustomMessage, Message, ToolResult, UserMessage
from harness.ports.tool import Conversation

NO_CONVERSATION = "This agent has no conversation whose context could be edited."


class RemovableTurns(Struct, frozen=True):
    """Turns before the one that removes them, oldest first."""

    groups: tuple[MessageGroup, ...]
    """Groups of messages that stay together, those of the user included."""
    kept: frozenset[str]
    """Ids of pinned messages."""

    def removable(self, group: MessageGroup) -> bool:
        """Return True for a turn: messages of the user and notes of the program stay, and so do pinned messages."""
        shown = [each for each in group if not isinstance(each, CustomMessage)]
        is_turn = bool(shown) and all(isinstance(each, AssistantMessage | ToolResult) for each in shown)
        return is_turn and not any(each.id in self.kept for each in group)


def turns_before(conversation: Conversation, call_id: str) -> RemovableTurns:
    """Return the context before the reply with this call."""
    groups: list[MessageGroup] = []
    for group in message_groups(conversation.context()):
        if any(isinstance(each, AssistantMessage) and _calls(each, call_id) for each in group):
            break
        groups.append(group)
    return RemovableTurns(tuple(groups), frozenset(conversation.pinned))


def remove(conversation: Conversation, groups: Iterable[MessageGroup], note: str) -> tuple[int, int]:
    """Replace turns by a note in the context. Return the number of messages and their estimated tokens.

    Args:
        conversation: The conversation.
        groups: The turns.
        note: Text that the model sees instead; `{count}` is the number of messages.
    """
    messages: Sequence[Message] = [each for group in groups for each in group if not isinstance(each, CustomMessage)]
    conversation.replace(frozenset(each.id for each in messages), note.replace("{count}", str(len(messages))))
    return len(messages), estimate_messages(messages)


def prompt_in(groups: Iterable[MessageGroup]) -> UserMessage | None:
    """Return the first message of the user in these groups; None if they contain no such message."""
    messages = (each for group in groups for each in group)
    return next((each for each in messages if isinstance(each, UserMessage) and is_prompt(each)), None)


def _calls(reply: AssistantMessage, call_id: str) -> bool:
    return any(call.id == call_id for call in reply.tool_calls)
