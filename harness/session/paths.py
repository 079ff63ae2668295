"""Where session files live, and what may name one.

The folder rule is Claude Code's, so that its readers find a project's sessions by the project's path.
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
from harness.workspace.disk import read_beginning

SUFFIX = ".jsonl"
_LONGEST = 200
_LONGEST_LINE = 4096
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def projects_dir(data_dir: Path) -> Path:
    return data_dir / "projects"


def project_dir(data_dir: Path, cwd: Path) -> Path:
    """The folder of the sessions that were started in `cwd`; it need not exist."""
    return projects_dir(data_dir) / project_name(cwd)


def project_name(cwd: Path) -> str:
    """`/srv/a_b.c` → `-srv-a-b-c`; a name beyond 200 characters is cut and gets a hash of the whole path."""
    path = unicodedata.normalize("NFC", os.path.realpath(cwd))
    name = re.sub(r"[^A-Za-z0-9]", "-", path)
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{_hash36(path)}"


def session_path(data_dir: Path, cwd: Path, session_id: str) -> Path:
    """The file of a session.

    Raises:
        SessionMissing: the id could lead out of the folder.
    """
    return project_dir(data_dir, cwd) / f"{checked_id(session_id)}{SUFFIX}"


def checked_id(session_id: str) -> str:
    """The id itself.

    Raises:
        SessionMissing: it holds a slash, a dot, a control character or anything else no session id has.
    """
    if not _ID.fullmatch(session_id):
        raise SessionMissing(f"{session_id!r} is no session id; `cinch sessions list` shows them")
    return session_id


def session_files(folder: Path) -> list[Path]:
    """The session files in a project's folder; none when it does not exist. Pipes and devices are none."""
    try:
        named = [path for path in folder.iterdir() if path.suffix == SUFFIX and _ID.fullmatch(path.stem)]
        return [path for path in named if path.is_file()]
    except OSError:
        return []


def open_session_file(path: Path) -> BinaryIO:
    """Open a session file for reading, as `session_descriptor` does."""
    return os.fdopen(session_descriptor(path), "rb", buffering=1 << 20)


def session_descriptor(path: Path) -> int:
    """Open a session file for reading, links followed; nothing but a regular file, which never blocks.

    Raises:
        OSError: it cannot be opened, or is a folder, a pipe or a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_regular(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def require_regular(descriptor: int) -> None:
    """Refuse pipes and devices.

    Raises:
        OSError: the open file is not a regular one.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def git_branch(cwd: Path) -> str:
    """The branch checked out at `cwd`; `HEAD` when detached, empty outside a repository.

    Read from the files because starting git would cost milliseconds at every prompt.
    """
    for folder in (cwd, *cwd.parents):
        git = folder / ".git"
        try:
            if git.is_file():
                git = folder / _line(git).removeprefix("gitdir:").strip()
            head = _line(git / "HEAD")
        except (OSError, UnicodeDecodeError, NotAFile):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else "HEAD"
    return ""


def _line(path: Path) -> str:
    return read_beginning(path, _LONGEST_LINE)[0].decode().strip()


def _hash36(text: str) -> str:
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    value = min(value, 0x100000000 - value)  # the size of it as a signed 32-bit number
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
