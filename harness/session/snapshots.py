"""What files held before a session changed them, kept the first time each one changes."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from harness.errors import NotAFile
from harness.lazy_dataclass import dataclass
from harness.workspace.disk import read_regular, regular_status

logger = logging.getLogger(__name__)

INDEX = "index.jsonl"
MOST_BYTES = 64 * 1024 * 1024
MOST_SESSIONS = 20
LARGEST = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was; `data` is None where there was none. Not `is_kept`: it was too large, or could not be read."""

    path: Path
    data: bytes | None
    is_kept: bool = True


class Snapshots:
    """Listens to a workspace. `folder` tells where the session keeps them, which changes with the session.

    Nothing here stops a change: what cannot be kept is noted as such.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._known: dict[Path, dict[str, str]] = {}

    def observe(self, path: Path) -> None:
        """Keep what is at `path`, unless something is kept of it."""
        folder = self._folder()
        index = self._index(folder)
        if str(path) in index:
            return
        name = self._keep(folder, path, len(index))
        index[str(path)] = name
        try:
            with (folder / INDEX).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"path": str(path), "kept": name}) + "\n")
        except OSError as error:
            logger.warning("the list of changed files cannot be written: %s", error)

    def all(self) -> list[Snapshot]:
        """All files the session has changed, as they were, in the order of their first change."""
        folder = self._folder()
        return [_read(folder, Path(path), name) for path, name in self._index(folder).items()]

    def _index(self, folder: Path) -> dict[str, str]:
        if folder not in self._known:
            self._known[folder] = _read_index(folder)
        return self._known[folder]

    def _keep(self, folder: Path, path: Path, number: int) -> str:
        """The name under which it is kept; `new` where there is no file yet, empty where it cannot be kept."""
        try:
            if not folder.exists():
                folder.mkdir(parents=True, mode=0o700)
                _forget_old(folder.parent)
            size = regular_status(path).st_size
            used = sum(kept.stat().st_size for kept in folder.iterdir())
            if size > LARGEST or used + size > MOST_BYTES:
                return ""
            kept = folder / f"{number:04}"
            kept.touch(mode=0o600)
            kept.write_bytes(read_regular(path))
            return kept.name
        except FileNotFoundError:
            return "new"
        except (OSError, NotAFile) as error:
            logger.warning("%s cannot be kept as it was: %s", path, error)
            return ""


def _forget_old(sessions: Path) -> None:
    """Let go of what the oldest sessions kept."""
    by_age = sorted(sessions.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in by_age[MOST_SESSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)


def _read_index(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / INDEX).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    index: dict[str, str] = {}
    for line in lines:
        try:
            entry = json.loads(line)
            index.setdefault(str(entry["path"]), str(entry["kept"]))
        except (ValueError, KeyError, TypeError):
            continue  # a line that a crash tore
    return index


def _read(folder: Path, path: Path, name: str) -> Snapshot:
    if name == "new":
        return Snapshot(path, None)
    # A name from the file is no way out of the folder.
    if not name.isdigit():
        return Snapshot(path, None, is_kept=False)
    try:
        return Snapshot(path, (folder / name).read_bytes())
    except OSError:
        return Snapshot(path, None, is_kept=False)
