"""Index of the secrets in a folder, for commands that search it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from harness.approval.path_lists import is_published, is_secret
from harness.approval.search_results import SearchResults
from harness.risk import PathAccess

_SEPARATORS = re.compile(r"[\s'\"\\]+")

MOST_SECRETS = 200
"""Maximum number of secrets, and of names that lead elsewhere, that are compared with the files that are read."""
MOST_FOLDERS = 20_000
"""Maximum number of folders in an index."""
FEW_FOLDERS = 100
"""Number of folders up to which a change of them is looked for without a thread, which takes longer to start."""
TIME_LIMIT_S = 0.05
"""Seconds that a decision waits for the index."""


class SecretIndex:
    """Secrets in a folder and its subfolders, read in a thread, and again after a folder in it has changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._times: dict[str, int] = {}
        self._secrets: list[str] = []
        self._misleading: list[str] = []
        self._links: list[str] = []
        self._is_complete = False
        self._worker: threading.Thread | None = None

    def problem(self, access: PathAccess) -> str:
        """Return the reason why a search of the folder needs approval; empty if it shows no secret."""
        if not self._update_in_time():
            return "it searches a folder that is too large to check for secrets in time"
        if secret := next(self._shown_secrets(access), ""):
            return f"it searches a folder with a secret: {secret}"
        if access.is_listed:
            elsewhere = [*self._misleading, *(() if access.skips_links else self._links)]
            if escape := next(_with_names(elsewhere, access.names), ""):
                return f"it reads the files of a folder, and a name in it leads elsewhere: {escape}"
        return "" if self._is_complete else "it searches a folder that is too large to check for secrets"

    def _shown_secrets(self, access: PathAccess) -> Iterator[str]:
        results = SearchResults(self._folder, access)
        return filter(results.may_show, _with_names(self._secrets, access.names))

    def _update_in_time(self) -> bool:
        if self._worker is None:
            if self._is_complete and len(self._times) <= FEW_FOLDERS and not self._is_outdated():
                return True
            self._worker = threading.Thread(target=self._update, name="secret-index", daemon=True)
            self._worker.start()
        self._worker.join(TIME_LIMIT_S)
        if self._worker.is_alive():
            return False
        self._worker = None
        return True

    def _update(self) -> None:
        if not self._is_complete or self._is_outdated():
            self._build()

    def _is_outdated(self) -> bool:
        try:
            return any(os.stat(folder).st_mtime_ns != changed for folder, changed in self._times.items())  # noqa: PTH116  fast
        except OSError:
            return True

    def _build(self) -> None:
        self._times, self._secrets, self._is_complete = {}, [], False
        self._misleading, self._links = [], []
        waiting = [self._folder]
        while waiting and len(self._times) < MOST_FOLDERS:
            waiting += self._read(waiting.pop())
        self._is_complete = not waiting

    def _read(self, folder: str) -> list[str]:
        """Index the files of a folder and return its subfolders."""
        try:
            self._times[folder] = os.stat(folder).st_mtime_ns  # noqa: PTH116  fast
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError:
            return []
        folders: list[str] = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders += [] if is_published(entry.name) else [entry.path]
            else:
                self._check(entry)
        return folders

    def _check(self, entry: os.DirEntry[str]) -> None:
        path = os.path.relpath(entry.path, self._folder)
        if is_secret(path):
            _note(self._secrets, path)
        if _names_another(path):
            _note(self._misleading, path)
        elif entry.is_symlink() and self._leads_outside(entry.path):
            _note(self._links, path)

    def _leads_outside(self, link: str) -> bool:
        real = os.path.realpath(link)
        return not real.startswith(self._folder.rstrip("/") + "/") or is_secret(real)


def _note(paths: list[str], path: str) -> None:
    if len(paths) < MOST_SECRETS:
        paths.append(path)


def _with_names(paths: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield the paths whose names match one of the patterns; all of them if there may be more paths than these."""
    if not names or len(paths) >= MOST_SECRETS:
        yield from paths
        return
    lowered = [name.lower() for name in names]
    for path in paths:
        name = os.path.basename(path).lower()  # noqa: PTH119  fast
        if any(fnmatchcase(name, pattern) for pattern in lowered):
            yield path


def _names_another(path: str) -> bool:
    """Return True if a shell or xargs would find the path of another file in a name: `a /etc/passwd`."""
    _, *parts = _SEPARATORS.split(path)
    return any(part.startswith(("/", "~")) or ".." in part.split("/") or is_secret(part) for part in parts)
