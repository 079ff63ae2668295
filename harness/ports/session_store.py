"""Port: a store of sessions, such as a database, with an implementation in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harness.errors import SessionMissing


class SessionStore(Protocol):
    """Stores sessions as JSON Lines, in the format of session files.

    A session consists of all bytes that were appended under its id, in order. Any exception of a method is reported;
    lines that could not be appended are kept in memory and appended again.
    """

    async def append(self, session_id: str, lines: bytes) -> None:
        """Add lines to a session, all or none; the first ones create it.

        Args:
            session_id: Id of the session.
            lines: Whole lines, each with its line feed.
        """
        ...

    async def read(self, session_id: str) -> bytes:
        """Return all lines of a session.

        Raises:
            SessionMissing: The session does not exist.
        """
        ...

    async def list_ids(self) -> Sequence[str]:
        """Return the ids of all sessions, the one appended to last first."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a session.

        Raises:
            SessionMissing: The session does not exist.
        """
        ...


class InMemorySessionStore(SessionStore):
    """Sessions that end with the process, for tests and for programs that store them at their own times."""

    def __init__(self) -> None:
        self._sessions: dict[str, bytes] = {}

    async def append(self, session_id: str, lines: bytes) -> None:
        """Add lines; `SessionStore.append` describes `session_id` and `lines`."""
        # Added anew, because the order of the ids is that of the last change.
        self._sessions[session_id] = self._sessions.pop(session_id, b"") + lines

    async def read(self, session_id: str) -> bytes:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise SessionMissing(f"session {session_id} does not exist") from None

    async def list_ids(self) -> Sequence[str]:
        return [*reversed(self._sessions)]

    async def delete(self, session_id: str) -> None:
        await self.read(session_id)
        del self._sessions[session_id]
