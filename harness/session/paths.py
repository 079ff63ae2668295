"""Paths of session files, and validation of session ids.

Folder names follow Claude Code's rule, so that its readers find a project's sessions by the project's path.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import BinaryIO

from harness.errors import NotAFile, SessionMissing
from harness.workspace.disk import git_head

SUFFIX = ".jsonl"
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


def session_files(folder: Path) -> list[Path]:
    """Return the session files in a project's folder; empty if it does not exist. Pipes and devices are skipped."""
    try:
        named = [path for path in folder.iterdir() if path.suffix == SUFFIX and _ID.fullmatch(path.stem)]
        return [path for path in named if path.is_file()]
    except OSError:
        return []


def project_folders(data_dir: Path, cwd: Path | None) -> list[Path]:
    """Return the folder with the sessions of `cwd`, or those of all projects if it is None."""
    if cwd is not None:
        return [project_dir(data_dir, cwd)]
    try:
        return sorted(projects_dir(data_dir).iterdir())
    except OSError:
        return []


def unreadable_folders(data_dir: Path, cwd: Path | None) -> list[tuple[Path, str]]:
    """Return the folders whose sessions cannot be listed, with the reason; a missing folder contains none."""
    found: list[tuple[Path, str]] = []
    for folder in (projects_dir(data_dir), *project_folders(data_dir, cwd)):
        try:
            os.scandir(folder).close()
        except FileNotFoundError:
            continue
        except OSError as error:
            # A file beside the folders of projects is none of ours.
            if folder.parent != projects_dir(data_dir) or not isinstance(error, NotADirectoryError):
                found.append((folder, error.strerror or str(error)))
    return found


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
