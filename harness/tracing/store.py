"""Port: storage of recorded sessions, with an implementation in files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.tracing.files import TraceFiles
from harness.tracing.records import SessionTrace


class AsyncSessionStore(Protocol):
    """Port: stores recorded sessions in files, a database or elsewhere.

    A missing session raises `SessionMissing`; other errors are `SessionError`s, or exceptions specific to the store.
    """

    async def save(self, session: SessionTrace) -> None:
        """Store a session atomically, replacing its earlier version."""
        ...

    async def load(self, session_id: str) -> SessionTrace:
        """Return a stored session."""
        ...

    async def list_ids(self) -> list[str]:
        """Return the ids of all stored sessions, latest saved first."""
        ...

    async def list_for_agent(self, agent_id: str) -> list[SessionTrace]:
        """Return the stored sessions of an agent, latest saved first."""
        ...

    async def delete(self, session_id: str) -> None:
        """Remove a stored session."""
        ...


class FileSessionStore:
    """One JSON file per session in a folder, as written by `TraceFiles`; never blocks the event loop.

    Args:
        folder: Created at the first save, accessible to its owner only.
        lock_timeout_s: Seconds that saving waits while another process saves the same session.
    """

    def __init__(self, folder: Path, lock_timeout_s: float = 5.0) -> None:
        self._files = TraceFiles(folder, lock_timeout_s)

    async def save(self, session: SessionTrace) -> None:
        """Write a session; see `TraceFiles.save`."""
        await asyncio.to_thread(self._files.save, session)

    async def load(self, session_id: str) -> SessionTrace:
        """Read a session; see `TraceFiles.load`."""
        return await asyncio.to_thread(self._files.load, session_id)

    async def list_ids(self) -> list[str]:
        """Return the ids of all sessions, latest saved first."""
        return await asyncio.to_thread(self._files.ids)

    async def list_for_agent(self, agent_id: str) -> list[SessionTrace]:
        """Read the sessions of one agent, latest saved first; unreadable files are logged and skipped."""
        return await asyncio.to_thread(self._files.of_agent, agent_id)

    async def delete(self, session_id: str) -> None:
        """Delete a session; see `TraceFiles.delete`."""
        await asyncio.to_thread(self._files.delete, session_id)


if TYPE_CHECKING:
    _: type[AsyncSessionStore] = FileSessionStore
