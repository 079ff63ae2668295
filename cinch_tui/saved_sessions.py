"""Saved sessions, as the session browser and commands list, search and change them.

Files are read and written in threads, except the file of the session that is open here: its store is not thread-safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from harness.errors import CinchError, SessionError
from harness.messages import Message, new_id
from harness.session.fork import fork_session
from harness.session.index import list_sessions
from harness.session.labels import changed_tags, checked_title, rename_session, tag_session
from harness.session.resume import load_session, tags_of
from harness.session.search import SearchHit, SearchQuery, search_sessions
from harness.session.search_index import update_index
from harness.session.summary import SessionSummary
from harness.session.trash import TrashedSession, restore_session, trash_session

if TYPE_CHECKING:
    from cinch_tui.agent_session import AgentSession
    from harness.session.recorder import SessionRecorder

T = TypeVar("T")
ALL_FOLDERS = "all"
"""Argument of a command that lists the sessions of all folders."""
PREVIEWED = 12
"""Messages at the end of a session that its preview shows."""
MAX_HITS = 50
_AFTER_HIT = 3


class SessionChoice(Struct, frozen=True):
    """A session that the user chose to open."""

    name: str
    """Id of the session, with `@` and the id of a message to show it instead of the end."""
    read_only: bool = False
    """True to show it without continuing it."""


class SavedSessions:
    """Sessions of one folder and of all folders.

    Args:
        session: The session that is open here.
    """

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._data_dir = session.options.paths.data
        self.cwd = session.options.cwd
        self._deleted: list[TrashedSession] = []
        self._reported: set[str] = set()

    @property
    def current(self) -> str:
        """Id of the session that is open here."""
        return self._session.agent.session_id

    async def list(self, *, everywhere: bool) -> Sequence[SessionSummary]:
        """Return the sessions of this folder or of all folders, the one with the newest message first.

        What cannot be read is reported as a notice, once.
        """
        cwd, problems = None if everywhere else self.cwd, list[str]()
        found = await asyncio.to_thread(partial(list_sessions, self._data_dir, cwd, on_problem=problems.append))
        for problem in problems:
            if problem not in self._reported:
                self._reported.add(problem)
                self._session.notice(problem, "warning")
        return found

    async def update_index(self, should_stop: Callable[[], bool]) -> None:
        """Index what was added since the last search."""
        # Without an index, as in a read-only folder, a search reads the files.
        with suppress(OSError):
            await asyncio.to_thread(update_index, self._data_dir, should_stop)

    async def search(self, text: str, *, everywhere: bool) -> Sequence[SearchHit]:
        """Return the messages that contain a text, the best match first."""
        query = SearchQuery(text, cwd=None if everywhere else self.cwd)
        return await _in_thread(lambda: search_sessions(self._data_dir, query, MAX_HITS))

    async def preview(self, path: Path, at: str = "") -> Sequence[Message]:
        """Return the last messages of a session, or those around the one with the uuid `at`."""
        return await asyncio.to_thread(_preview, path, at)

    async def rename(self, path: Path, title: str) -> str:
        """Set the title of a session; return it."""
        if store := self._open_store(path):
            title = checked_title(title)
            store.rename(title)
            return title
        return await asyncio.to_thread(rename_session, path, title)

    async def change_tags(self, path: Path, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
        """Add and remove tags of a session; return its tags."""
        if store := self._open_store(path):
            tags = changed_tags(tags_of(store.labels), add, remove)
            store.tag(tags)
            return tags
        return await asyncio.to_thread(lambda: tag_session(path, add=add, remove=remove))

    async def fork(self, path: Path, at: str = "") -> str:
        """Copy a session, or its messages up to the one with the uuid `at`; return the id of the copy."""
        await self._drain(path)
        return (await asyncio.to_thread(lambda: fork_session(path, new_id(), at=at))).stem

    async def export(self, path: Path, file_format: str) -> Path:
        """Export a session to a new file in this folder; return it.

        If the caller is cancelled, such as by closing the browser, a notice reports the end.
        """
        await self._drain(path)
        export = asyncio.create_task(asyncio.to_thread(self._export, path, file_format))
        try:
            return await asyncio.shield(export)
        except asyncio.CancelledError:
            export.add_done_callback(self._report_export)
            raise

    async def delete(self, path: Path) -> None:
        """Move a session to the trash."""
        if path.stem == self.current:
            raise SessionError("this session is open here; start a new one with /new before you delete it")
        self._deleted.append(await asyncio.to_thread(trash_session, self._data_dir, path))

    async def undo_delete(self) -> str:
        """Restore the session that was deleted last; return its id, empty if none was deleted here."""
        if not self._deleted:
            return ""
        restored = await asyncio.to_thread(restore_session, self._deleted[-1])
        self._deleted.pop()
        return restored.stem

    def _open_store(self, path: Path) -> SessionRecorder | None:
        store = self._session.assembly.store
        return store if store is not None and store.path == path else None

    async def _drain(self, path: Path) -> None:
        """Wait until the session is written, if it is open here."""
        if store := self._open_store(path):
            await store.drain()

    def _report_export(self, export: asyncio.Task[Path]) -> None:
        if export.cancelled():
            return
        if error := export.exception():
            self._session.notice(str(error), "error")
        else:
            self._session.notice(f"Exported to {export.result()}")

    def _export(self, path: Path, file_format: str) -> Path:
        from cinch_tui.reports.export_files import export_files

        return export_files(load_session(path), file_format, self.cwd)[0]


def _preview(path: Path, at: str) -> Sequence[Message]:
    messages = load_session(path).messages
    end = messages.index_of(at) + _AFTER_HIT if at else len(messages)
    return messages[max(0, end - PREVIEWED) : end]


async def _in_thread(run: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(run)
    except OSError as error:
        raise CinchError(f"the search index cannot be used: {error}") from error
