"""Access of tools to the conversation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.context.history import History
from harness.messages import Message

if TYPE_CHECKING:
    from harness.ports.tool import Conversation


class RunConversation:
    """Conversation of a run."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def history(self) -> Sequence[Message]:
        await self._history.load()
        return self._history.messages


if TYPE_CHECKING:
    _: type[Conversation] = RunConversation
