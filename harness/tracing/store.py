"""Storage of recorded sessions in files."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from harness.codec import decode, encode
from harness.errors import SessionError, SessionLocked, SessionMissing
from harness.messages import JsonValue
from harness.session.journal import make_private
from harness.session.records import writable
from harness.tracing.records import SessionTrace
from harness.workspace.disk import write_atomically

logger = logging.getLogger(__name__)

SUFFIX = ".json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

_FORMER_NAMES = {
    "session_record": "session_trace",
    "loop_record": "run_trace",
    "child_loop_ref": "child_run_ref",
    "loops": "runs",
    "unasked": "non_interactive",
    "loop_id": "run_id",
    "loop_ids": "run_ids",
    "parent_loop_id": "parent_run_id",
    "child_loop_id": "child_run_id",
    "all_loop_ids": "all_run_ids",
    "selected_loop_id": "selected_run_id",
    "children_loop_ids": "children_run_ids",
    "child_loop_refs": "child_run_refs",
}
"""Tags and fields of files written before the rename → current ones."""


class TraceFiles:
    """Files `{folder}/{session_id}.json`. All methods block; asynchronous programs call them in a thread.

    Args:
        folder: Created at the first save, accessible to its owner only.
        patience: Seconds that saving waits while another process saves the same session.
    """

    def __init__(self, folder: Path, patience: float = 5.0) -> None:
        self._folder = folder
        self._patience = patience

    def save(self, session: SessionTrace) -> Path:
        """Write a session atomically, replacing its earlier version.

        Raises:
            SessionLocked: Another process is saving it.
            SessionError: Its id cannot be used as a file name.
            OSError: The file cannot be written.
        """
        path = self._path(session.session_id)
        make_private(self._folder)
        with self._locked(path):
            write_atomically(path, _to_json(session).encode())
        return path

    def load(self, session_id: str) -> SessionTrace:
        """Read a session.

        Raises:
            SessionMissing: The session was never saved.
            SessionError: The file is not a recorded session, or the id is invalid.
        """
        path = self._path(session_id)
        try:
            return decode(SessionTrace, _with_current_names(json.loads(path.read_bytes())))
        except FileNotFoundError as error:
            raise SessionMissing(f"session {session_id} not found in {self._folder}") from error
        except (ValueError, RecursionError) as error:
            raise SessionError(f"{path} is not a recorded session: {error}") from error

    def ids(self) -> list[str]:
        """Return the ids of all saved sessions, newest first."""
        try:
            saved = [path for path in self._folder.iterdir() if path.suffix == SUFFIX and _ID.fullmatch(path.stem)]
        except FileNotFoundError:
            return []
        return [path.stem for path in sorted(saved, key=_age)]

    def of_agent(self, agent_id: str) -> list[SessionTrace]:
        """Return the sessions of one agent, newest first. Unreadable files are skipped and logged."""
        return [session for each in self.ids() if (session := self._readable(each)) and session.agent_id == agent_id]

    def delete(self, session_id: str) -> None:
        """Delete a session.

        Raises:
            SessionMissing: The session was never saved.
            SessionError: The id is invalid.
        """
        try:
            self._path(session_id).unlink()
        except FileNotFoundError as error:
            raise SessionMissing(f"session {session_id} not found in {self._folder}") from error

    def _readable(self, session_id: str) -> SessionTrace | None:
        try:
            return self.load(session_id)
        except (SessionError, OSError) as error:
            logger.warning("skipped a recorded session: %s", error)
            return None

    def _path(self, session_id: str) -> Path:
        if not _ID.fullmatch(session_id):
            raise SessionError(f"{session_id!r} cannot be used as a file name")
        return self._folder / f"{session_id}{SUFFIX}"

    @contextmanager
    def _locked(self, path: Path) -> Generator[None]:
        # Imported late: nothing before the first paint records a session.
        from filelock import FileLock, Timeout

        lock_path = path.with_name(f"{path.name}.lock")
        lock = FileLock(lock_path, mode=0o600)
        try:
            lock.acquire(timeout=self._patience, poll_interval=0.02)
        except Timeout as error:
            raise SessionLocked(f"session {path.stem} is being saved by another process; try again") from error
        try:
            yield
        finally:
            # Unlinked while held: a waiting process sees that its file is gone and takes a new one.
            lock_path.unlink(missing_ok=True)
            lock.release()


def _with_current_names(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_with_current_names(each) for each in value]
    # Objects without a tag are data, such as arguments of a call.
    if not isinstance(value, dict) or not isinstance(tag := value.get("type"), str):
        return value
    renamed = {_FORMER_NAMES.get(name, name): _with_current_names(item) for name, item in value.items()}
    return renamed | {"type": _FORMER_NAMES.get(tag, tag)}


def _to_json(session: SessionTrace) -> str:
    data = encode(session)
    try:
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError:
        # Lone surrogates and infinite numbers, which a model may write into its arguments.
        text = json.dumps(writable(data), indent=2, ensure_ascii=False)
    return text + "\n"


def _age(path: Path) -> tuple[int, str]:
    try:
        return -path.stat().st_mtime_ns, path.name
    except FileNotFoundError:  # deleted since the folder was read
        return 0, path.name
