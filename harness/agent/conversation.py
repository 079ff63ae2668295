"""Access of tools to the conversation of a run."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from harness.context.overlay import Compaction
from harness.context.overlay_events import compaction_end
from harness.context.pipeline import ContextSource, context_tokens, last_id
from harness.messages import Message, synthetic

if TYPE_CHECKING:
    from harness.ports.tool import Conversation


class RunConversation:
    """Conversation of a run."""

    def __init__(self, run: ContextSource) -> None:
        self._run = run

    async def history(self) -> Sequence[Message]:
        await self._run.history.load()
        return self._run.history.messages

    def context(self) -> Sequence[Message]:
        return self._run.state.context.overlay.apply(self._run.history.messages)

    @property
    def pinned(self) -> Set[str]:
        return self._run.state.context.overlay.pinned

    def replace(self, ids: Set[str], note: str) -> None:
        run, state = self._run, self._run.state.context
        before, earlier = context_tokens(run.state, run.history, run.tools), state.overlay.compactions
        compaction = Compaction(synthetic(note), ids, last_id(run.history))
        state.add_compaction(compaction, state.cooldown)
        tokens = before, context_tokens(run.state, run.history, run.tools)
        run.bus.publish(compaction_end(compaction, earlier, run.history.outline, "tool", tokens))


if TYPE_CHECKING:
    _: type[Conversation] = RunConversation
