"""Files and folders on disk as a whole: counting, moving and copying them."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile

logger = logging.getLogger(__name__)

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Errors of `os.link` where a file system has no hard links, or forbids this one."""

MOST_COUNTED = 100_000
"""Files and folders that are counted."""

Check = Callable[[], None]
"""Function that is called between files; raises to cancel."""


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


def relocate(source: Path, target: Path, check: Check) -> None:
    """Move a file or folder to a path that does not exist, also to another file system.

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
            _move_between_disks(source, target, check)
    except BaseException:
        _remove_empty(made)
        raise


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
                source.unlink()
            except BaseException:
                target.unlink()
                raise
            return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "the destination has just been created")
    os.rename(source, target)  # noqa: PTH104  not Path.rename, whose errors name both paths in another form


def _move_between_disks(source: Path, target: Path, check: Check) -> None:
    """Copy a file or folder, then remove the original.

    It is renamed before it is removed, so that a failure leaves either all of it or a complete copy.
    """
    duplicate(source, target, check)
    aside = _temporary(source.parent)
    try:
        check()
        os.rename(source, aside)  # noqa: PTH104  as above
    except BaseException:
        remove(target)
        raise
    try:
        remove(aside)
    except OSError:
        logger.warning("a moved file or folder could not be removed completely: %s", aside, exc_info=True)


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


def put_back(source: Path, target: Path) -> int:
    """Move a file or folder back; what exists at the target stays. Return the number of files that did not move.

    Raises:
        OSError: It cannot be moved.
    """
    if not os.path.lexists(target):
        relocate(source, target, lambda: None)
        return 0
    if source.is_symlink() or target.is_symlink() or not (source.is_dir() and target.is_dir()):
        return 1
    left = sum(put_back(each, target / each.name) for each in list(source.iterdir()))
    if not left:
        source.rmdir()
    return left


def remove(path: Path) -> None:
    """Delete a file or folder permanently, read-only folders included; a link itself, not its target."""
    if path.is_dir() and not path.is_symlink():
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
