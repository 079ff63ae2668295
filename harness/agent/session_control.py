"""SessionControl: messages of an agent, and changing between its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.agent.agent_base import AgentBase
from harness.agent.limits import Ledger
from harness.approval.modes import EXECUTE, MODES
from harness.codec import dump_messages, load_messages
from harness.context.history import outline_of, usage_of
from harness.context.overlay import ContextOverlay
from harness.errors import ConfigError
from harness.events import HistoryReplaced
from harness.lost_jobs import lost_jobs, lost_jobs_notice
from harness.messages import AssistantMessage, Message
from harness.ports.tool import lost_state_notice, renewed_tools
from harness.publishing import publish_message

if TYPE_CHECKING:
    from harness.agent.stored_session import StoredSession
    from harness.ports.session_store import SessionStore
    from harness.session.resume import LoadedSession


class SessionControl(AgentBase):
    """Part of `Agent` that replaces its messages, and starts, continues and stores sessions; use `Agent`."""

    _stored_session: StoredSession | None = None

    def replace_messages(self, messages: Sequence[Message]) -> None:
        """Replace the history, in the same session, which records it; published as `HistoryReplaced`.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.history.replace(messages)
        self.state.context.restart(self.history.outline)
        self.publish(HistoryReplaced(messages=self.history.messages))

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
        """Remove all messages, in the same session, as `replace_messages` does."""
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
        options, initial, state = self.options, self._initial, self.state
        self.new_session(messages=options.messages)
        state.context.restore(ContextOverlay())
        self.inbox.clear()
        self.inbox.steering.mode, self.inbox.follow_up.mode = options.steering, options.follow_up
        state.system_prompt, state.tools = initial.system_prompt, renewed_tools(initial.tools)
        state.max_tokens, state.approval, state.last_error = initial.max_tokens, options.approval, None
        if state.model != initial.model:
            self.set_model(initial.model)
        if state.mode != options.mode:
            self.set_mode(options.mode)

    def new_session(self, session_id: str = "", messages: Sequence[Message] = ()) -> str:
        """Start another conversation and return its id. Session approvals end.

        Args:
            session_id: Id of the new session; empty creates one.
            messages: Initial history.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self.state.cache_key = self._cache_key_for(messages)
        self.history.replace(messages)
        self.state.context.restart(self.history.outline)
        self.state.ledger = Ledger()
        for model, usage in usage_of(messages):
            self.state.ledger.add(model, usage)
        self.state.permissions.store.end_session()
        self._cache.clear()
        self._bus.session_id = self.identity.rotate(session_id)
        self._bus.turn = 0
        self._renew_tools(messages)
        return self.session_id

    def reset_tools(self) -> None:
        """Drop what tools keep between their calls, such as the folder of a persistent shell; the model is informed.

        Raises:
            AlreadyRunning: A run is active.
        """
        self.ensure_idle()
        self._renew_tools(self.history.messages)

    async def open_session(self, store: SessionStore, session_id: str = "") -> bool:
        """Continue a session of a store, or start it there, and store the conversation from now on.

        A message is stored before it is sent to the model, and the start of a tool call before the call runs. A store
        that fails is reported as a notice and does not stop a run. `new_session` and `reset` end the storing.

        Args:
            store: The store.
            session_id: Id of the session; empty: the current one.

        Returns:
            True if the store has the session: its messages replace the current ones. Otherwise the current messages
            are its first ones.

        Raises:
            AlreadyRunning: A run is active.
            SessionTooNew: A later version wrote the session in an unknown format.
            SessionError: The session opened before cannot be stored now.
        """
        # Imported late: the app writes files.
        from harness.agent.stored_session import StoredSession, find_session

        self.ensure_idle()
        if self._stored_session is not None:
            await self._stored_session.flush()
        session_id = session_id or self.session_id
        loaded, messages = await find_session(store, session_id)
        if self._stored_session is not None:
            # Only now: if the store fails, the session opened before is still stored.
            await self._stored_session.close()
            self._stored_session = None
        mode = self.state.mode
        if loaded is not None:
            self.restore_session(loaded, messages)
            mode = next((each for each in MODES.values() if each.name == loaded.mode), mode)
        elif session_id != self.session_id:
            self.new_session(session_id, self.history.messages)
        self._stored_session = StoredSession(self, store, loaded)
        if mode is not (self.state.mode if loaded else EXECUTE):
            self.set_mode(mode)
        await self._bus.flush()
        return loaded is not None

    def restore_session(self, loaded: LoadedSession, messages: Sequence[Message] | None = None) -> None:
        """Continue a loaded session: messages, summaries for models, order of tools, usage and numbers of its runs.

        Args:
            loaded: The session.
            messages: Its messages, repaired if a program that ended left them incomplete; None: they are read now.

        Raises:
            AlreadyRunning: A run is active.
        """
        if messages is None:
            from harness.session.repaired import repaired_messages

            messages = repaired_messages(loaded)
        self.new_session(loaded.session_id, messages)
        self.state.context.restore(loaded.overlay)
        self._restore_identity(loaded, outline_of(messages))
        for model, usage in loaded.other_usage:
            self.state.ledger.add(model, usage)
        # Empty replies, such as those aborted at their start, are in the session only.
        for each in loaded.messages.without({message.id for message in outline_of(messages)}):
            if isinstance(each, AssistantMessage):
                self.state.ledger.add(f"{each.provider}/{each.model}", each.usage)
        if gone := lost_jobs(outline_of(messages), self.jobs):
            self.add_reminder(lost_jobs_notice(gone))

    def rotate_session_if_idle(self, idle_seconds: float) -> str | None:
        """Start another session with the same conversation if no run started within `idle_seconds`.

        Returns:
            The id of the new session, or None if the agent was not idle for long enough.

        Raises:
            AlreadyRunning: A run is active.
        """
        if (idle := self.identity.idle_for()) is None or idle <= idle_seconds:
            return None
        return self.new_session(messages=self.history.messages)

    def _renew_tools(self, messages: Sequence[Message]) -> None:
        """Start with tools that keep nothing of earlier calls; inform the model if its calls left something."""
        state = self.state
        tools = renewed_tools(state.tools)
        # Most tools keep nothing, and a session may be long.
        if all(new is old for new, old in zip(tools, state.tools, strict=True)):
            return
        state.tools = tools
        if notice := lost_state_notice(outline_of(messages)):
            self.add_reminder(notice)

    def _cache_key_for(self, messages: Sequence[Message]) -> str:
        """Return the cache key of a new session with these messages; empty unless it begins as the current one does."""
        first, current = outline_of(messages)[:1], self.history.outline[:1]
        is_fork = bool(first and current) and first[0].id == current[0].id
        return self.state.cache_key or self.session_id if is_fork else ""

    def _restore_identity(self, loaded: LoadedSession, messages: Sequence[Message]) -> None:
        """Continue the numbers of runs and the order of tools of a session; tools that are new to it come last."""
        tool_names = [*loaded.tools]
        self.identity.restore(loaded.run_ids)
        self.state.cache_key = loaded.cache_key
        if loaded.tools:
            self.state.late.restore(self.state.cache_key or self.session_id, tool_names)
        self.state.prompt_cache.restore(self.session_id, loaded.system, loaded.tools, messages)
        self.state.tools = sorted(
            self.state.tools,
            key=lambda tool: tool_names.index(tool.name) if tool.name in tool_names else len(tool_names),
        )
