"""Sessions in stores other than the app's own files: writing in the background, a store of files, and loading."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from harness.concurrency import is_cancelled
from harness.errors import SessionError, SessionMissing
from harness.ports.session_store import SessionStore
from harness.session.journal import Journal
from harness.session.paths import SUFFIX, checked_id, open_session_file
from harness.session.resume import LoadedSession, read_session

PATIENCE_S = 10.0
"""Seconds that an agent waits for a store before it continues without it."""


class StoreJournal:
    """Appends lines to a session of a store, in the background and in order.

    Lines that cannot be stored are kept and appended again, together with the next ones.

    Args:
        store: The store.
        session_id: Id of the session.
        on_problem: Receives a message when storing starts to fail and when it works again.
    """

    def __init__(self, store: SessionStore, session_id: str, on_problem: Callable[[str], None]) -> None:
        self.size = 0
        """Number of bytes appended."""
        self._store = store
        self._session_id = session_id
        self._on_problem = on_problem
        self._pending: list[bytes] = []
        self._writing: asyncio.Task[None] | None = None
        self._late: asyncio.Task[None] | None = None
        self._is_failing = False

    @property
    def is_saved(self) -> bool:
        """True if no line is waiting to be stored."""
        return not self._pending

    def acquire(self) -> None:
        """Do nothing: a store handles several writers itself."""

    def append(self, data: bytes) -> None:
        """Append whole lines. Never raises; an error is reported and the lines are kept."""
        if not data:
            return
        self._pending.append(data)
        self.size += len(data)
        self.flush()

    def flush(self) -> None:
        """Start to store pending lines. Without a running event loop, `drain` stores them."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        task = self._writing
        # An earlier event loop may have ended with its task.
        if self._pending and (task is None or task.done() or task.get_loop() is not loop):
            self._writing = loop.create_task(self._write())

    def sync(self) -> None:
        """Do nothing: what a store has accepted is safe."""

    def close(self) -> None:
        """Start to store pending lines; `drain` waits for it."""
        self.flush()

    def execute(self, work: Callable[[], object]) -> None:
        """Do nothing: the work concerns the files of subagents."""

    def of_subagent(self, agent_id: str) -> SubagentLines:
        """Return a writer of lines of a subagent, which are part of their session and marked as such."""
        return SubagentLines(self)

    async def drain(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until all lines are stored or the attempt has failed, but no longer than `patience_s` seconds."""
        self.flush()
        task = self._writing
        if not self._pending or task is None or task is self._late:
            return
        done, _ = await asyncio.wait([task], timeout=patience_s)
        if not done:
            self._late = task
            self._report(f"no answer within {patience_s:g} seconds")

    async def _write(self) -> None:
        while self._pending:
            count = len(self._pending)
            try:
                await self._store.append(self._session_id, b"".join(self._pending))
            except (Exception, asyncio.CancelledError) as error:  # user-supplied store; may raise anything
                if is_cancelled(asyncio.current_task()):
                    raise
                self._report(str(error) or type(error).__name__)
                break
            del self._pending[:count]
            if self._is_failing:
                self._is_failing = False
                self._on_problem("The session is saved again; nothing is missing.")

    def _report(self, why: str) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._on_problem(f"The session cannot be saved: {why}. It is kept in memory and retried.")


class SubagentLines:
    """Writer of the conversation of a subagent, without the lines that are not marked as such."""

    def __init__(self, session: StoreJournal) -> None:
        self._session = session

    def append(self, data: bytes) -> None:
        lines = (line for line in data.splitlines(keepends=True) if not line.startswith(b'{"type":"cinch-'))
        self._session.append(b"".join(lines))

    def close(self) -> None:
        """Do nothing: the session continues."""


class FileSessionStore(SessionStore):
    """One file per session in a folder: `<session id>.jsonl`, as written by the app; never blocks the event loop.

    Args:
        folder: Created with the first session, accessible to its owner only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def append(self, session_id: str, lines: bytes) -> None:
        """Append lines and flush them to disk.

        Args:
            session_id: Id of the session.
            lines: Whole lines.

        Raises:
            SessionError: The file cannot be written, or another process is writing to it.
            SessionMissing: The id cannot be used as a file name.
        """
        await asyncio.to_thread(_append, self._path(session_id), lines)

    async def read(self, session_id: str) -> bytes:
        path = self._path(session_id)
        try:
            return await asyncio.to_thread(_read, path)
        except FileNotFoundError:
            raise SessionMissing(f"session {session_id} not found in {self._folder}") from None
        except OSError as error:
            raise SessionError(f"{path} cannot be read: {error.strerror}") from error

    async def list_ids(self) -> Sequence[str]:
        return await asyncio.to_thread(_ids, self._folder)

    async def delete(self, session_id: str) -> None:
        path = self._path(session_id)
        try:
            await asyncio.to_thread(path.unlink)
        except FileNotFoundError:
            raise SessionMissing(f"session {session_id} not found in {self._folder}") from None

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{checked_id(session_id)}{SUFFIX}"


def _append(path: Path, lines: bytes) -> None:
    problems: list[str] = []
    journal = Journal(path, problems.append)
    journal.append(lines)
    journal.close()
    if not journal.is_saved:
        raise SessionError("; ".join(problems))


def _read(path: Path) -> bytes:
    with open_session_file(path) as file:
        return file.read()


def _ids(folder: Path) -> list[str]:
    changed: list[tuple[int, str]] = []
    for path in folder.glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):  # deleted in the meantime
            changed.append((path.stat().st_mtime_ns, path.stem))
    return [session_id for _, session_id in sorted(changed, reverse=True)]


async def load_stored_session(store: SessionStore, session_id: str) -> LoadedSession:
    """Load a session from a store; its lines stay in memory.

    Args:
        store: The store.
        session_id: Id of the session.

    Raises:
        SessionMissing: The session does not exist.
        SessionTooNew: A later version of cinch wrote it in an unknown format.
    """
    data = await store.read(session_id)
    return await asyncio.to_thread(read_session, session_id, data)
