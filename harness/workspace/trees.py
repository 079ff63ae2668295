"""Files and folders on disk as a whole: counting, moving and copying them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Errors of `os.link` where a file system has no hard links, or forbids this one."""

MOST_COUNTED = 100_000
"""Files and folders that are counted."""

Check = Callable[[], None]
"""Function that is called between files; raises to cancel."""

_CLOCK_TICK_S = 0.01
"""Longest time in which Linux gives two writes the same time of modification."""

CHANGED = "another program has just changed it"


class Remaining(Struct, frozen=True):
    """A file or folder that a move left where it was."""

    path: Path
    """Absolute path."""
    reason: str


class TreeSize(Struct, frozen=True):
    """Number and size of the files in a folder, or of one file."""

    files: int
    size: int
    """Size in bytes."""
    is_folder: bool = False
    is_complete: bool = True
    """False if there are more files than were counted."""

    def __str__(self) -> str:
        more = "" if self.is_complete else "more than "
        noun = "file" if self.files == 1 else "files"
        return f"{more}{self.files:,} {noun}, {more}{self.size:,} bytes"


def measure(path: Path) -> TreeSize:
    """Return the number and size of the files at a path; links are not followed.

    Raises:
        OSError: The path cannot be read.
    """
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return TreeSize(1, status.st_size)
    files = size = seen = 0
    waiting = [str(path)]
    while waiting:
        with os.scandir(waiting.pop()) as scan:
            for entry in scan:
                seen += 1
                if seen > MOST_COUNTED:
                    return TreeSize(files, size, is_folder=True, is_complete=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_size
    return TreeSize(files, size, is_folder=True)


def contents(path: Path) -> Iterator[str]:
    """Yield the paths of all files and folders in a folder, relative to it; links are not followed."""
    for top, folders, files in os.walk(path):
        for name in (*folders, *files):
            yield os.path.relpath(f"{top}/{name}", path)


def reachable(path: Path) -> Iterator[str]:
    """Yield the paths of all files and folders in a folder, relative to it, also through links to folders."""
    waiting: list[tuple[str, str, tuple[str, ...]]] = [(str(path), "", ())]
    while waiting:
        folder, shown, above = waiting.pop()
        real = os.path.realpath(folder)
        if real in above:
            continue
        with suppress(OSError), os.scandir(folder) as scan:
            for entry in scan:
                yield shown + entry.name
                if entry.is_dir():
                    waiting.append((entry.path, f"{shown}{entry.name}/", (*above, real)))


def relocate(source: Path, target: Path, check: Check) -> list[Remaining]:
    """Move a file or folder to a path that does not exist, also to another file system.

    Returns:
        What stays at the source of a folder that moves to another file system, although the copy is complete: files
        that another program changed meanwhile, and what cannot be removed.

    Raises:
        OSError: It cannot be moved; nothing has changed.
    """
    made = _make_folders(target.parent)
    try:
        check()
        try:
            _rename(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return _move_between_disks(source, target, check)
    except BaseException:
        _remove_empty(made)
        raise
    return []


def _rename(source: Path, target: Path) -> None:
    """Rename a file or folder; what another program has just created at the target is not replaced.

    Raises:
        OSError: It cannot be renamed; nothing has changed.
    """
    if not stat.S_ISDIR(source.lstat().st_mode):
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            try:
                if not os.path.samestat(source.lstat(), target.lstat()):
                    raise OSError(errno.EBUSY, CHANGED)
                source.unlink()
            except BaseException:
                target.unlink()
                raise
            return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "the destination has just been created")
    os.rename(source, target)  # noqa: PTH104  not Path.rename, whose errors name both paths in another form


_Signature = tuple[int, int, int, int]


def _signature(path: Path) -> _Signature:
    status = path.lstat()
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns


def _move_between_disks(source: Path, target: Path, check: Check) -> list[Remaining]:
    """Copy a file or folder, then remove of the original what has not changed meanwhile."""
    if not os.access(source.parent, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    before = {source: _signature(source)}
    if _is_own_folder(source):
        before |= {path: _signature(path) for path in map(source.joinpath, contents(source))}
    # Writes during the copy get another time than those before.
    time.sleep(_CLOCK_TICK_S)
    duplicate(source, target, check)
    try:
        check()
    except BaseException:
        remove(target)
        raise
    remaining = list(_remove_unchanged(source, before))
    if remaining and all(map(os.path.lexists, before)):
        remove(target)
        raise OSError(errno.EBUSY, remaining[0].reason)
    return remaining


def _remove_unchanged(path: Path, before: Mapping[Path, _Signature]) -> Iterator[Remaining]:
    """Delete files that are as before, and the folders that contain nothing else; yield what stays."""
    try:
        now = _signature(path)
        if not stat.S_ISDIR(now[0]):
            if now == before.get(path):
                path.unlink()
            else:
                yield Remaining(path, CHANGED)
        elif path not in before:
            yield Remaining(path, CHANGED)
        else:
            if now[0] & stat.S_IRWXU != stat.S_IRWXU:
                path.chmod(stat.S_IRWXU)
            remaining = [left for each in list(path.iterdir()) for left in _remove_unchanged(each, before)]
            yield from remaining
            if remaining:
                path.chmod(stat.S_IMODE(now[0]))
            else:
                path.rmdir()
    except OSError as error:
        yield Remaining(path, error.strerror or str(error))


def _temporary(folder: Path) -> Path:
    return folder / f".cinch-{os.urandom(6).hex()}.tmp"


def duplicate(source: Path, target: Path, check: Check) -> None:
    """Copy a file or folder to a path that does not exist: all of it or nothing. Links in a folder stay links.

    Raises:
        OSError: It cannot be copied, for instance because it contains a pipe or a device.
    """
    made = _make_folders(target.parent)
    temporary = _temporary(target.parent)

    def copy(one: str, other: str) -> str:
        check()
        if not stat.S_ISREG(os.lstat(one).st_mode):
            raise NotAFile(f"{one} is neither a file nor a folder")
        return shutil.copy2(one, other, follow_symlinks=False)

    try:
        if source.is_symlink():
            temporary.symlink_to(source.readlink())
        elif source.is_dir():
            shutil.copytree(source, temporary, symlinks=True, copy_function=copy)
        else:
            copy(str(source), str(temporary))
        check()
        _rename(temporary, target)
    except BaseException:
        if os.path.lexists(temporary):
            remove(temporary)
        _remove_empty(made)
        raise


def put_back(source: Path, target: Path) -> list[Remaining]:
    """Move a file or folder back; what exists at the target stays. Return what did not move."""
    try:
        if not os.path.lexists(target):
            return relocate(source, target, lambda: None)
        if not (_is_own_folder(source) and _is_own_folder(target)):
            return [Remaining(source, "another one exists at its former path")]
        remaining = [left for each in list(source.iterdir()) for left in put_back(each, target / each.name)]
        if not remaining:
            source.rmdir()
        return remaining
    except OSError as error:
        return [Remaining(source, error.strerror or str(error))]


def _is_own_folder(path: Path) -> bool:
    """Return True for a folder, False for a link to one."""
    return path.is_dir() and not path.is_symlink()


def remove(path: Path) -> None:
    """Delete a file or folder permanently, read-only folders included; a link itself, not its target."""
    if _is_own_folder(path):
        for folder, _, _ in os.walk(path):
            Path(folder).chmod(0o700)
        shutil.rmtree(path)
    else:
        path.unlink()


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and those above it, and return the new ones, innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
