"""Conversation of a tool call without an agent."""

from __future__ import annotations

from collections.abc import Sequence, Set

from harness.context.overlay import Compaction, ContextOverlay
from harness.messages import Message, synthetic


class FakeConversation:
    """A conversation whose context shows all of its history, except what `replace` replaces."""

    def __init__(self, messages: Sequence[Message], pinned: Set[str] = frozenset()) -> None:
        self._messages = messages
        self._compactions: tuple[Compaction, ...] = ()
        self.pinned = pinned
        self.notes: list[str] = []

    async def history(self) -> Sequence[Message]:
        return self._messages

    def context(self) -> Sequence[Message]:
        return ContextOverlay(self._compactions).apply(self._messages)

    def replace(self, ids: Set[str], note: str) -> None:
        self.notes.append(note)
        self._compactions = (*self._compactions, Compaction(synthetic(note), ids))
