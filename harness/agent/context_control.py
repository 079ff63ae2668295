"""ContextControl: changes of an agent's context by the user or a program."""

from __future__ import annotations

from harness.agent.agent_base import AgentBase
from harness.errors import ConfigError
from harness.events import ContextEdited


class ContextControl(AgentBase):
    """Part of `Agent` that changes what models see of the history, which itself stays as it is; use `Agent`.

    Changes apply from the next model call on and are part of the session.
    """

    def pin(self, message_id: str) -> None:
        """Keep a message in the context: it is never evicted, summarized or left out by a compaction.

        A message that was evicted, summarized or removed is shown again.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        self.state.context.pin(message_id)
        self._publish_edits()

    def unpin(self, message_id: str) -> None:
        """Let a pinned message be evicted or summarized again; does nothing for others."""
        self.state.context.unpin(message_id)
        self._publish_edits()

    def drop(self, message_id: str) -> None:
        """Remove a message from the context: a reply with its calls and their results, of others the content.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        self.state.context.drop(message_id)
        self._publish_edits()

    def restore(self, message_id: str) -> None:
        """Show a removed or evicted message again; an evicted one is pinned.

        Raises:
            ConfigError: The history has no such message.
        """
        self._require(message_id)
        context = self.state.context
        if message_id in context.overlay.evicted:
            context.pin(message_id)
        context.undrop(message_id)
        self._publish_edits()

    def _require(self, message_id: str) -> None:
        if not any(message.id == message_id for message in self.history.outline):
            raise ConfigError(f"the history has no message {message_id!r}")

    def _publish_edits(self) -> None:
        overlay = self.state.context.overlay
        self.publish(ContextEdited(pinned=tuple(sorted(overlay.pinned)), dropped=tuple(sorted(overlay.dropped))))
