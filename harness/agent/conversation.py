"""AgentConversation: changes to the conversation of an idle agent, and new sessions."""

from __future__ import annotations

from collections.abc import Sequence

from harness.agent.cost import Ledger
from harness.agent.settings import AgentSettings
from harness.codec import dump_messages, load_messages
from harness.errors import ConfigError
from harness.messages import AssistantMessage, Message
from harness.publishing.bus import publish_message


class AgentConversation(AgentSettings):
    """Replace, append, clear, save and restore messages; start another session."""

    def replace_messages(self, messages: Sequence[Message]) -> None:
        """Replace the history, in the same session; no event is published.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.history.replace(messages)

    def append_messages(self, messages: Sequence[Message]) -> None:
        """Append messages to the history without a model call; each is published as `MessageStart` and `MessageEnd`.

        Raises:
            AlreadyRunning: A run is active.
            ConfigError: A tool call has no result after it, or a result no call before it; nothing is appended.
        """
        self.ensure_idle()
        try:
            self.history.extend(messages)
        except ValueError as error:
            raise ConfigError(f"these messages cannot be appended: {error}") from error
        for message in messages:
            publish_message(self.publish, message)

    def clear_messages(self) -> None:
        """Remove all messages, in the same session; no event is published.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.replace_messages(())

    def save_messages(self) -> str:
        """Return the history as JSON."""
        return dump_messages(self.history.messages)

    def restore_messages(self, text: str) -> None:
        """Replace the history by what `save_messages` returned.

        Raises:
            AlreadyRunning: A run is active.
            ConfigError: The text is not a saved history; the history is unchanged.
        """
        self.replace_messages(load_messages(text))

    def reset(self) -> None:
        """Return to the initial state, in a new session.

        System prompt, tools, model with its thinking level, and messages are those that the agent was created with;
        mode, approval, queue modes and `max_tokens` are those of its options. Queued messages, `last_error`, usage and
        session approvals are discarded. Background jobs and subscriptions remain.

        Raises:
            AlreadyRunning: A run is active.
        """
        options, initial, state = self.options, self.initial, self.state
        self.new_session(messages=options.messages)
        self.inbox.clear()
        self.inbox.steering.mode, self.inbox.follow_up.mode = options.steering, options.follow_up
        state.system_prompt, state.tools = initial.system_prompt, initial.tools
        state.max_tokens, state.approval, state.last_error = options.max_tokens, options.approval, None
        if state.model != initial.model:
            self.set_model(initial.model)
        if state.mode != options.mode:
            self.set_mode(options.mode)

    def new_session(self, session_id: str = "", messages: Sequence[Message] = ()) -> str:
        """Start another conversation, empty or with `messages`, and return its id. Session approvals end.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.history.replace(messages)
        self.state.ledger = Ledger()
        self.state.budget = 0
        for each in messages:
            if isinstance(each, AssistantMessage):
                self.state.ledger.add(f"{each.provider}/{each.model}", each.usage)
        self.state.grants.untrust(None)
        self._cache.clear()
        self._bus.session_id = self.identity.rotate(session_id)
        self._bus.turn = 0
        return self.session_id

    def rotate_session_if_idle(self, idle_seconds: float) -> str | None:
        """Start another session with the same conversation if no run started within `idle_seconds`.

        Returns:
            The id of the new session, or None if the agent was not idle for long enough.

        Raises:
            AlreadyRunning: A run is active.
        """
        idle = self.identity.idle_for()
        if idle is None or idle <= idle_seconds:
            return None
        return self.new_session(messages=self.history.messages)
