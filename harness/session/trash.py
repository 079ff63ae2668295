"""Trash for deleted sessions, next to the folders of projects, from which they can be restored.

Each entry is a folder with the session's file, the files of its subagents and `origin.json`, which names the project's
folder. An interrupted deletion or restore can be repeated: the session's file is the last part to come back.
"""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from harness.errors import SessionError, SessionLocked, SessionMissing
from harness.session.journal import lock_path, make_private, take_lock
from harness.session.paths import checked_id, project_name, projects_dir, session_files
from harness.session.summary import summarize

_ORIGIN = "origin.json"


class TrashedSession(Struct, frozen=True):
    """A deleted session."""

    path: Path
    """Its file in the trash."""
    folder: Path
    """Folder to which it is restored."""
    deleted: float
    """Time of its deletion, in seconds since the epoch."""

    @property
    def id(self) -> str:
        """Id of the session."""
        return self.path.stem


def trash_dir(data_dir: Path) -> Path:
    return data_dir / "trash"


def trash_session(data_dir: Path, path: Path) -> TrashedSession:
    """Move a session to the trash, with the files of its subagents.

    Raises:
        SessionLocked: The session is open.
        SessionMissing: It does not exist.
        SessionError: It cannot be moved.
    """
    try:
        lock = take_lock(path)
    except SessionLocked as error:
        raise SessionLocked(f"session {path.stem} is open; close it before you delete it") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be deleted: {error.strerror}") from error
    try:
        if not path.is_file():
            raise SessionMissing(f"{path} does not exist")
        return _move_to_trash(data_dir, path)
    except OSError as error:
        raise SessionError(f"{path} cannot be moved to the trash: {error.strerror}") from error
    finally:
        lock_path(path).unlink(missing_ok=True)
        lock.release()


def trashed_sessions(data_dir: Path) -> list[TrashedSession]:
    """Return the sessions in the trash, the one deleted last first."""
    try:
        entries = list(trash_dir(data_dir).iterdir())
    except OSError:
        return []
    found = [session for entry in entries if (session := _read_entry(data_dir, entry))]
    return sorted(found, key=lambda session: session.deleted, reverse=True)


def find_trashed(data_dir: Path, which: str) -> TrashedSession:
    """Find a deleted session by its id, a prefix of its id, or `latest`, the one deleted last.

    Raises:
        SessionMissing: No session in the trash has this id, or several start with it.
    """
    found = trashed_sessions(data_dir)
    if which != "latest":
        wanted = checked_id(which).lower()
        found = [session for session in found if session.id.lower().startswith(wanted)]
        if len(ids := {session.id for session in found}) > 1:
            raise SessionMissing(f"several deleted sessions start with {which}: {', '.join(sorted(ids)[:8])}")
    if not found:
        raise SessionMissing(
            "the trash is empty"
            if which == "latest"
            else f"session {which} is not in the trash; `cinch sessions trash` lists deleted sessions"
        )
    return found[0]


def restore_session(session: TrashedSession) -> Path:
    """Move a session out of the trash, to the place it was deleted from; return its file.

    Raises:
        SessionError: A session with this id exists there, or it cannot be moved.
    """
    target, entry = session.folder / session.path.name, session.path.parent
    if target.exists():
        raise SessionError(f"{target} exists; rename or delete it, then restore the session again")
    try:
        make_private(session.folder)
        # The file comes last: until then the entry stays in the trash, and restoring it can be repeated.
        _move_folder(session.path.with_suffix(""), target.with_suffix(""))
        shutil.move(session.path, target)
    except OSError as error:
        raise SessionError(f"{session.path} cannot be restored: {error.strerror}") from error
    shutil.rmtree(entry, ignore_errors=True)
    return target


def empty_trash(data_dir: Path) -> int:
    """Delete all sessions in the trash permanently; return their number.

    Raises:
        SessionError: Some cannot be deleted.
    """
    count = len(trashed_sessions(data_dir))
    try:
        shutil.rmtree(trash_dir(data_dir))
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise SessionError(f"{error.filename} cannot be deleted: {error.strerror}") from error
    return count


def _move_to_trash(data_dir: Path, path: Path) -> TrashedSession:
    deleted = time.time()
    entry = trash_dir(data_dir) / f"{path.stem}-{time.time_ns()}"
    make_private(entry)
    origin = {"project": path.parent.name, "deleted": deleted}
    (entry / _ORIGIN).write_text(json.dumps(origin), encoding="utf-8")
    target = entry / path.name
    shutil.move(path, target)
    _move_folder(path.with_suffix(""), target.with_suffix(""))
    return TrashedSession(target, path.parent, deleted)


def _move_folder(folder: Path, target: Path) -> None:
    if folder.is_dir():
        # A repeated move adds to what is there.
        target.mkdir(mode=0o700, exist_ok=True)
        for item in folder.iterdir():
            shutil.move(item, target / item.name)
        with suppress(OSError):
            folder.rmdir()


def _read_entry(data_dir: Path, entry: Path) -> TrashedSession | None:
    files = session_files(entry)
    if len(files) != 1:
        return None
    project, deleted = "", 0.0
    with suppress(OSError, ValueError, KeyError, TypeError):
        origin = json.loads((entry / _ORIGIN).read_text(encoding="utf-8"))
        project, deleted = str(origin["project"]), float(origin["deleted"])
    # A name in the file must not lead out of the folder. If it is lost, the session names the folder of its project.
    if not project or Path(project).name != project or project == "..":
        summary = summarize(files[0])
        project = project_name(Path(summary.cwd)) if summary and summary.cwd else "-"
    return TrashedSession(files[0], projects_dir(data_dir) / project, deleted)
