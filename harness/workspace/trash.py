"""Trash for files and folders that the agent deletes, from which they can be restored.

Each entry is a folder with `origin.json`, which names the former path, and the content in `content/`. Old entries are
deleted permanently when the trash grows beyond its limits; the newest one always stays.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from harness.errors import FileTooLarge
from harness.workspace.trees import Check, Remaining, TreeSize, relocate, remove

MAX_TOTAL_BYTES = 1024 * 1024 * 1024
MAX_DAYS = 30
MAX_ENTRIES = 1000
_ORIGIN = "origin.json"
_NS_PER_DAY = 86_400 * 10**9


class Trash:
    """Trash in a folder, which is created when it is first used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place_for(self, path: Path) -> Path:
        """Return a new path in the trash for a file or folder."""
        return self.folder / f"{time.time_ns()}-{os.urandom(3).hex()}" / "content" / path.name

    def put(self, path: Path, place: Path, size: TreeSize, check: Check) -> list[Remaining]:
        """Move a file or folder into the trash.

        Args:
            path: The file or folder.
            place: Its path in the trash, from `place_for`.
            size: Its size.
            check: Raises to cancel.

        Returns:
            What stays where it was, as for `relocate`.

        Raises:
            FileTooLarge: It would have to be copied to another file system, and is too large for that.
            OSError: It cannot be moved; nothing has changed.
        """
        entry = place.parent.parent
        entry.mkdir(parents=True, mode=0o700)
        self.folder.chmod(0o700)
        if entry.stat().st_dev != path.lstat().st_dev and (size.size > MAX_TOTAL_BYTES or not size.is_complete):
            entry.rmdir()
            raise FileTooLarge(f"it is too large for the trash ({size}); delete it with a command")
        origin = {"path": str(path), "deleted": time.time(), "files": size.files, "bytes": size.size}
        try:
            (entry / _ORIGIN).write_text(json.dumps(origin), encoding="utf-8")
            remaining = relocate(path, place, check)
        except BaseException:
            _drop(entry)
            raise
        with suppress(OSError):
            self._forget_old(entry)
        return remaining

    def _forget_old(self, newest: Path) -> None:
        """Delete the oldest entries beyond the limits, and those whose content was restored."""
        oldest = time.time_ns() - MAX_DAYS * _NS_PER_DAY
        total = 0
        entries = sorted(self.folder.iterdir(), key=_time_of, reverse=True)
        for entry in [each for each in entries if not _has_content(each)]:
            _drop(entry)
            entries.remove(entry)
        for count, entry in enumerate(entries, 1):
            total += _bytes_of(entry)
            is_old = _time_of(entry) < oldest or count > MAX_ENTRIES or total > MAX_TOTAL_BYTES
            if is_old and entry != newest:
                _drop(entry)


def _drop(entry: Path) -> None:
    # What remains, such as files of another user, is no reason for a deletion to fail.
    with suppress(OSError):
        remove(entry)


def _has_content(entry: Path) -> bool:
    try:
        return any((entry / "content").iterdir())
    except OSError:
        return False


def _time_of(entry: Path) -> int:
    time_ns = entry.name.partition("-")[0]
    return int(time_ns) if time_ns.isdecimal() else 0


def _bytes_of(entry: Path) -> int:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return int(json.loads((entry / _ORIGIN).read_text(encoding="utf-8"))["bytes"])
    return 0
