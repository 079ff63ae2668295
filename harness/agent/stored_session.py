"""Session of an agent in a store: loading it, and recording the conversation in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from harness.agent.agent_base import AgentBase
from harness.context.overlay_events import overlay_events
from harness.errors import SessionError, SessionMissing
from harness.events import Event, MessageEnd, ToolExecutionEnd
from harness.messages import Message, ToolResult
from harness.ports.session_store import SessionStore
from harness.ports.tool import specs_of
from harness.session.recorder import SessionRecorder
from harness.session.repaired import repaired_messages
from harness.session.resume import LoadedSession
from harness.session.stores import load_stored_session

logger = logging.getLogger(__name__)


async def find_session(store: SessionStore, session_id: str) -> tuple[LoadedSession | None, Sequence[Message]]:
    """Load a session with its repaired messages; None if the store does not have it."""
    try:
        loaded = await load_stored_session(store, session_id)
    except SessionMissing:
        return None, ()
    return loaded, await asyncio.to_thread(repaired_messages, loaded)


class StoredSession:
    """Records the conversation of an agent in a store, until the agent starts another session.

    A new session begins with the messages that the agent has.
    """

    def __init__(self, agent: AgentBase, store: SessionStore, loaded: LoadedSession | None) -> None:
        self._agent = agent
        self._session_id = agent.session_id
        self._recorder = SessionRecorder(
            store, agent.workspace.root, agent.session_id, resumed=loaded, on_problem=self._report
        )
        self._recorder.prefix.system = lambda: agent.state.system_prompt
        self._recorder.prefix.cache_key = lambda: agent.state.cache_key
        self._recorder.prefix.tools = lambda: specs_of(agent.state.available_tools)
        for warning in loaded.warnings if loaded else ():
            self._report(warning)
        if loaded is None:
            for message in agent.history:
                self._recorder.store(_event_of(message))
            for event in overlay_events(agent.state.context.overlay, agent.history.outline):
                self._recorder.store(event)
        self._unsubscribe = agent.subscribe(self._record)
        self._remove_drain = agent.add_drain(self._recorder.drain)

    async def flush(self) -> None:
        """Store what is pending.

        Raises:
            SessionError: The store fails; nothing is lost, and recording continues.
        """
        await self._recorder.drain()
        if not self._recorder.is_saved:
            raise SessionError(f"session {self._session_id} cannot be stored; try again")

    async def close(self) -> None:
        """Store what is pending and stop recording.

        Raises:
            SessionError: The store fails; nothing is lost, and recording continues.
        """
        self._recorder.close()
        await self.flush()
        self._unsubscribe()
        self._remove_drain()

    def _record(self, event: Event) -> None:
        # Events after `new_session` belong to another conversation.
        if event.session_id == self._session_id:
            self._recorder.store(event)

    def _report(self, problem: str) -> None:
        logger.warning("session %s: %s", self._session_id, problem)
        self._agent.notify(problem, level="warning")


def _event_of(message: Message) -> Event:
    return ToolExecutionEnd(result=message) if isinstance(message, ToolResult) else MessageEnd(message=message)
