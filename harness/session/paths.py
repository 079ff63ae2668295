"""Paths of session files, and validation of session ids.

Folder names follow Claude Code's rule, so that its readers find a project's sessions by the project's path.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from harness.errors import NotAFile, SessionMissing
from harness.workspace.disk import git_head

SUFFIX = ".jsonl"
LOCK_SUFFIX = ".lock"
_MAX_NAME_CHARS = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def projects_dir(data_dir: Path) -> Path:
    return data_dir / "projects"


def project_dir(data_dir: Path, cwd: Path) -> Path:
    """Return the folder of the sessions that were started in `cwd`; it may not exist."""
    return projects_dir(data_dir) / project_name(cwd)


def project_name(cwd: Path) -> str:
    """Return the folder name of a path: `/srv/a_b.c` → `-srv-a-b-c`; longer than 200 characters, cut with a hash."""
    path = unicodedata.normalize("NFC", os.path.realpath(cwd))
    name = re.sub(r"[^A-Za-z0-9]", "-", path)
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}-{_hash36(path)}"


def session_path(data_dir: Path, cwd: Path, session_id: str) -> Path:
    """Return the file of a session.

    Raises:
        SessionMissing: The id is invalid.
    """
    return project_dir(data_dir, cwd) / f"{checked_id(session_id)}{SUFFIX}"


def subagent_path(session: Path, agent_id: str) -> Path:
    """Return the file of a subagent's conversation, in a folder next to that of the session."""
    return session.with_suffix("") / "subagents" / f"agent-{agent_id}{SUFFIX}"


def subagent_files(session: Path) -> list[Path]:
    """Return the files of a session's subagents."""
    return sorted(path for path in session.with_suffix("").glob(f"subagents/agent-*{SUFFIX}") if path.is_file())


def is_subagent_file(path: Path) -> bool:
    """Return True for the file of a subagent, False for that of a session."""
    return path.parent.name == "subagents"


def checked_id(session_id: str) -> str:
    """Return a valid session id unchanged.

    Raises:
        SessionMissing: The id contains a slash, a dot, a control character or another invalid character.
    """
    if not _ID.fullmatch(session_id):
        raise SessionMissing(f"{session_id!r} is not a session id; run `cinch sessions list` to see them")
    return session_id


class SessionFile(NamedTuple):
    """A session file in a listing of its folder."""

    path: str
    """The file."""
    key: str
    """Its path below the folder of all projects."""
    size: int
    """Size in bytes."""
    modified: int
    """Time of the last change, in nanoseconds since the epoch."""
    has_lock: bool
    """True if a lock file is next to it, which may be an old one."""


def find_files(
    data_dir: Path, cwd: Path | None, on_problem: Callable[[str], None] = lambda _: None
) -> list[SessionFile]:
    """Return the session files of a folder, or of all folders if `cwd` is None. Pipes and devices are skipped.

    Args:
        data_dir: Folder of all sessions.
        cwd: Folder in which the sessions were started.
        on_problem: Receives a message for each folder and file that cannot be read.
    """
    folders = [str(project_dir(data_dir, cwd))] if cwd is not None else []
    if cwd is None:
        try:
            folders = [entry.path for entry in os.scandir(projects_dir(data_dir))]
        except FileNotFoundError:
            return []
        except OSError as error:
            on_problem(f"{projects_dir(data_dir)} cannot be read: {error.strerror}")
    found: list[SessionFile] = []
    for folder in folders:
        try:
            found += _files_in(folder, on_problem)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            on_problem(f"{folder} cannot be read: {error.strerror}")
    return found


def session_files(folder: Path) -> list[Path]:
    """Return the session files in a folder; empty if it cannot be read."""
    with suppress(OSError):
        return [Path(file.path) for file in _files_in(str(folder), lambda _: None)]
    return []


def _files_in(folder: str, on_problem: Callable[[str], None]) -> Iterator[SessionFile]:
    with os.scandir(folder) as entries:
        listed = list(entries)
    # SQLite takes valid Unicode only.
    name = folder.rpartition("/")[2].encode(errors="backslashreplace").decode()
    locks = {entry.name for entry in listed if entry.name.endswith(LOCK_SUFFIX)}
    for entry in listed:
        if not entry.name.endswith(SUFFIX) or not _ID.fullmatch(entry.name[: -len(SUFFIX)]):
            continue
        try:
            facts = entry.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            on_problem(f"{entry.path} cannot be read: {error.strerror}")
            continue
        if stat.S_ISREG(facts.st_mode):
            has_lock = entry.name + LOCK_SUFFIX in locks
            yield SessionFile(entry.path, f"{name}/{entry.name}", facts.st_size, facts.st_mtime_ns, has_lock)


def open_session_file(path: Path) -> BinaryIO:
    """Open a session file for reading; see `session_descriptor`."""
    return os.fdopen(session_descriptor(path), "rb", buffering=1 << 20)


def session_descriptor(path: Path) -> int:
    """Open a session file for reading, following links; only a regular file, so that opening never blocks.

    Raises:
        OSError: The file cannot be opened, or is a folder, a pipe or a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_regular(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def require_regular(descriptor: int) -> None:
    """Reject pipes and devices.

    Raises:
        OSError: The file is not a regular one.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def git_branch(cwd: Path) -> str:
    """Return the branch checked out at `cwd`; `HEAD` if detached, empty outside a repository.

    Read from the files, because starting git would take milliseconds at every prompt.
    """
    for folder in (cwd, *cwd.parents):
        try:
            _, head = git_head(folder)
        except (OSError, UnicodeDecodeError, NotAFile):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else "HEAD"
    return ""


def _hash36(text: str) -> str:
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    value = min(value, 0x100000000 - value)  # absolute value as a signed 32-bit number
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
