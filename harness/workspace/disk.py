"""Regular files on disk: opening never blocks, replacing is atomic."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from harness.errors import NotAFile

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a dangling link"),
)


def regular_status(path: Path) -> os.stat_result:
    """Return the status of a regular file at a resolved path.

    Raises:
        NotAFile: The path is something else, which may block when opened.
        OSError: The status cannot be read.
    """
    return _regular(os.lstat(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a resolved path for reading.

    Raises:
        NotAFile: The path is, or has just become, something other than a regular file.
        OSError: The file cannot be opened.
    """
    regular_status(path)
    # The flags protect against a link or pipe that was put there after the check.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile("not a regular file")
    return os.fdopen(descriptor, "rb", buffering=0)


def is_there(path: Path) -> bool:
    """Return True if the path exists and is accessible."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def is_folder(path: Path) -> bool:
    """Return True if `path` is a folder; False if it cannot be looked up, such as a name that is too long."""
    return os.path.isdir(path)  # noqa: PTH112  pathlib raises for such a name


def read_small_text(path: Path | str, most: int) -> str:
    """Return the UTF-8 text of a regular file of at most `most` bytes; links are followed.

    Raises:
        NotAFile: The path is a pipe, a device or a folder, or the file is too large.
        OSError: The file cannot be opened.
        UnicodeDecodeError: The file is not UTF-8.
    """
    data, size = read_beginning(path, most + 1)
    if len(data) > most:
        raise NotAFile(f"a file of {size:,} bytes; the limit is {most:,}")
    # Convert line endings as text mode does.
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def read_beginning(path: Path | str, most: int) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, following links, and its size.

    Raises:
        NotAFile: The path is a pipe, a device or a folder; it is never waited for.
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = _regular(os.fstat(descriptor)).st_size
        # Without a file object, which takes longer than reading a small file.
        data = part = os.read(descriptor, most)
        while part and len(data) < min(most, size):
            part = os.read(descriptor, min(most, size) - len(data))
            data += part
    finally:
        os.close(descriptor)
    return data, size


def git_head(folder: Path) -> tuple[Path, str]:
    """Return the git folder of a repository or worktree, and the content of its HEAD, without starting git.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: The folder is not a repository, or its files cannot be read.
    """
    git = folder / ".git"
    if git.is_file():
        git = folder / _first_text(git).removeprefix("gitdir:").strip()
    return git, _first_text(git / "HEAD")


def _first_text(path: Path) -> str:
    return read_beginning(path, 4096)[0].decode().strip()


def _regular(status: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "not a regular file"))
    return status


def read_regular(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def replace_file(path: Path, data: bytes, guard: Callable[[], None], *, like: os.stat_result | None = None) -> None:
    """Write `data` to a resolved path atomically: on any error, nothing changes and no file is left behind.

    An existing file keeps its mode and, if permitted, its owner.

    Args:
        path: File to create or replace.
        data: New content.
        guard: Called just before the last step; raises to cancel it.
        like: Status of the file whose mode and owner a new file gets.

    Raises:
        OSError: The file cannot be written.
    """
    made = _make_folders(path.parent)
    temporary = path.parent / f".cinch-{os.urandom(6).hex()}.tmp"
    try:
        like = _status(path) or like
        _fill(temporary, data, 0o666 if like is None else 0o600, like)
        guard()
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        for folder in reversed(made):
            # Another program may have put a file there meanwhile.
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file of the program itself, so that readers see either the old or the new content.

    Args:
        path: File to create or replace; its folder must exist.
        data: New content.
        mode: Permissions of the file.

    Raises:
        OSError: The file cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        _fill(temporary, data, mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    try:
        status = regular_status(path)
    except FileNotFoundError:
        return None
    # Renaming would replace a file that its owner made read-only.
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(13, "the file is read-only")
    return status


def _fill(temporary: Path, data: bytes, mode: int, like: os.stat_result | None = None) -> None:
    """Write and flush a temporary file. Where possible it has no name until then: a crash leaves nothing behind."""
    for is_named in (False, True):
        descriptor = _new_file(temporary, mode, is_named=is_named)
        if descriptor is None:
            continue
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            if like is not None:
                _copy_owner_and_mode(descriptor, like)
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(descriptor)
            if is_named or _give_name(descriptor, temporary):
                return


def _new_file(path: Path, mode: int, *, is_named: bool) -> int | None:
    """Return the descriptor of a new file; None if the file system has no files without a name."""
    if is_named:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, mode)
    return None


def _give_name(descriptor: int, path: Path) -> bool:
    """Return False if the file cannot get a name, for instance because /proc is missing."""
    try:
        # With a folder's descriptor, Python calls `linkat`, which follows the link in /proc.
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)
    except OSError:
        return False
    return True


def _copy_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


def _make_folders(folder: Path) -> list[Path]:
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    for each in reversed(missing):
        # Another call may be creating it at the same time.
        with contextlib.suppress(FileExistsError):
            each.mkdir()
            made.append(each)
    return made
