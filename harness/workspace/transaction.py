"""Writing several files, all or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.workspace.disk import read_regular, regular_status, replace_file


class FileWrite(Struct, frozen=True):
    """New content of a file."""

    path: Path
    """Resolved path."""
    data: bytes | None
    """Content; None removes the file."""
    like: os.stat_result | None = None
    """Status of the file whose mode a new file gets."""


class WriteFailed(Exception):
    """A file could not be written; its cause is the reason.

    Args:
        path: The file.
        unrestored: Files written before that could not be restored.
    """

    def __init__(self, path: Path, unrestored: Sequence[Path]) -> None:
        super().__init__(str(path))
        self.path = path
        self.unrestored = tuple(unrestored)


class _Written(Struct, frozen=True):
    """A file that was written, and what restores it."""

    write: FileWrite
    original: bytes | None
    status: os.stat_result | None
    made_folders: tuple[Path, ...]


def write_all(writes: Sequence[FileWrite], guard: Callable[[FileWrite], None]) -> None:
    """Write files in order; if one cannot be written, restore those before it.

    Args:
        writes: The files.
        guard: Called just before each file changes; raises to cancel.

    Raises:
        WriteFailed: A file could not be written, or `guard` raised.
    """
    done: list[_Written] = []
    for write in writes:
        try:
            before = _before(write) if len(writes) > 1 else None
            _write(write, guard)
        except BaseException as error:
            unrestored = [each.write.path for each in reversed(done) if not _is_restored(each)]
            raise WriteFailed(write.path, unrestored) from error
        if before is not None:
            done.append(before)


def _before(write: FileWrite) -> _Written:
    folders = tuple(folder for folder in write.path.parents if not folder.exists())
    if not os.path.lexists(write.path):
        return _Written(write, None, None, folders)
    return _Written(write, read_regular(write.path), regular_status(write.path), folders)


def _write(write: FileWrite, guard: Callable[[FileWrite], None]) -> None:
    if write.data is None:
        guard(write)
        write.path.unlink()
    else:
        replace_file(write.path, write.data, lambda: guard(write), like=write.like)


def _is_restored(written: _Written) -> bool:
    """Restore a file, unless another program has changed it meanwhile; return False if that fails."""
    path = written.write.path
    try:
        if (read_regular(path) if os.path.lexists(path) else None) != written.write.data:
            return False
        if written.original is not None:
            replace_file(path, written.original, lambda: None, like=written.status)
            return True
        path.unlink()
    except (OSError, NotAFile):
        return False
    for folder in written.made_folders:
        # Another program may have put a file there meanwhile.
        with contextlib.suppress(OSError):
            folder.rmdir()
    return True
