"""Snapshots of files before their first change in a session."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from harness.errors import NotAFile
from harness.workspace.disk import read_regular, regular_status
from harness.workspace.path_policy import is_within

logger = logging.getLogger(__name__)

INDEX = "index.jsonl"
MOVED = "at:"
"""Prefix of a path in the index: of content that was moved, not copied."""
MAX_TOTAL_BYTES = 64 * 1024 * 1024
MAX_SESSIONS = 20
MAX_FILE_BYTES = 10 * 1024 * 1024


class Snapshot(Struct, frozen=True):
    """Content of a file before its first change."""

    path: Path
    """Path of the file."""
    data: bytes | None
    """Content; None if the file did not exist."""
    is_kept: bool = True
    """False if the file was too large or could not be read."""
    now_at: Path | None = None
    """Path that a folder, or a file without a copy, was moved to, also in the trash."""


class Snapshots:
    """Observer of a workspace that stores snapshots. `folder` returns the folder of the current session.

    An error never prevents a change; the file is then recorded without a snapshot.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._known: dict[Path, dict[str, str]] = {}

    def observe(self, path: Path) -> None:
        """Store the current content of `path`, unless it has a snapshot."""
        folder = self._folder()
        index = self._index(folder)
        if str(path) in index:
            return
        self._record(folder, path, self._keep(folder, path, len(index)))

    def observe_past(self, path: Path, before: bytes) -> None:
        """Store what `path` contained before a program changed it, unless it has a snapshot."""
        folder = self._folder()
        index = self._index(folder)
        if str(path) not in index:
            self._record(folder, path, self._keep(folder, path, len(index), before))

    def observe_move(self, path: Path, now_at: Path) -> None:
        """Store where `path` is about to move, unless it has a copy; what moved to it before moves along."""
        folder = self._folder()
        index = self._index(folder)
        for earlier, name in list(index.items()):
            place = name.removeprefix(MOVED)
            if name != place and is_within(place, str(path)):
                self._record(folder, Path(earlier), f"{MOVED}{now_at}{place[len(str(path)) :]}")
        if _may_move(index.get(str(path), "")):
            self._record(folder, path, f"{MOVED}{now_at}")

    def _record(self, folder: Path, path: Path, name: str) -> None:
        self._index(folder)[str(path)] = name
        try:
            with (folder / INDEX).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"path": str(path), "kept": name}) + "\n")
        except OSError as error:
            logger.warning("the list of changed files cannot be written: %s", error)

    def all(self) -> list[Snapshot]:
        """Return the snapshots of all changed files, in the order of their first change."""
        folder = self._folder()
        return [_read(folder, Path(path), name) for path, name in self._index(folder).items()]

    def _index(self, folder: Path) -> dict[str, str]:
        if folder not in self._known:
            self._known[folder] = _read_index(folder)
        return self._known[folder]

    def _keep(self, folder: Path, path: Path, number: int, data: bytes | None = None) -> str:
        """Store a file, or the data it had, and return its name; `new` if it does not exist, empty if not stored."""
        try:
            if not folder.exists():
                folder.mkdir(parents=True, mode=0o700)
                _forget_old(folder.parent)
            size = regular_status(path).st_size if data is None else len(data)
            used = sum(kept.stat().st_size for kept in folder.iterdir())
            if size > MAX_FILE_BYTES or used + size > MAX_TOTAL_BYTES:
                return ""
            kept = folder / f"{number:04}"
            kept.touch(mode=0o600)
            kept.write_bytes(read_regular(path) if data is None else data)
            return kept.name
        except FileNotFoundError:
            return "new"
        except NotAFile:
            # A folder or link has no copy: it is moved as a whole.
            return ""
        except OSError as error:
            logger.warning("no snapshot of %s: %s", path, error)
            return ""


def _forget_old(sessions: Path) -> None:
    """Remove the snapshots of the oldest sessions."""
    by_age = sorted(sessions.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in by_age[MAX_SESSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)


def _may_move(name: str) -> bool:
    """Return True if an entry of the index has no content: it was not kept, or is not where it was moved to."""
    return not name or (name.startswith(MOVED) and not os.path.lexists(name.removeprefix(MOVED)))


def _read_index(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / INDEX).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    index: dict[str, str] = {}
    for line in lines:
        try:
            entry = json.loads(line)
            path, name = str(entry["path"]), str(entry["kept"])
            if path not in index or name.startswith(MOVED):
                index[path] = name
        except (ValueError, KeyError, TypeError):
            continue  # a line truncated by a crash
    return index


def _read(folder: Path, path: Path, name: str) -> Snapshot:
    if name == "new":
        return Snapshot(path, None)
    if name.startswith(MOVED):
        return Snapshot(path, None, now_at=Path(name.removeprefix(MOVED)))
    # A name in the index must not lead out of the folder.
    if not name.isdigit():
        return Snapshot(path, None, is_kept=False)
    try:
        return Snapshot(path, (folder / name).read_bytes())
    except OSError:
        return Snapshot(path, None, is_kept=False)
