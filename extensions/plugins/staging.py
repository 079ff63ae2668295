"""Copies of plugins: regular files only, bounded in number and size."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from harness.errors import ConfigError, NotAFile
from harness.workspace.disk import read_beginning

MOST_FILES = 5_000
"""Maximum number of files of a plugin, or of a catalog with its plugins."""
MOST_BYTES = 100 * 2**20
"""Maximum size of all its files, in bytes."""
_DEEPEST = 32
# Python writes its caches into a copy when a hook runs.
_NOT_COPIED = frozenset({".git", "__pycache__"})


def copy_folder(source: Path, boundary: Path, target: Path) -> list[str]:
    """Copy a folder to a new one, and return the paths of what was left out: links that lead elsewhere, devices.

    A link to a file within `boundary` becomes a copy of that file. Repositories and caches of Python are not copied.

    Raises:
        ConfigError: The folder is too large, or cannot be read.
    """
    copy = _Copy(source, Path(os.path.realpath(boundary)))
    target.mkdir(parents=True)
    try:
        copy.folder(Path(os.path.realpath(source)), target, _DEEPEST)
    except OSError as error:
        raise ConfigError(f"{source} cannot be copied: {error}") from error
    return copy.left_out


def file_hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each file of a copied folder by its relative path."""
    hashes: dict[str, str] = {}
    for path in _files(folder):
        kind = b"x" if os.access(path, os.X_OK) else b"-"
        hashes[str(path.relative_to(folder))] = hashlib.sha256(kind + path.read_bytes()).hexdigest()
    return hashes


def _files(folder: Path) -> Iterator[Path]:
    for each in sorted(os.scandir(folder), key=lambda each: each.name):
        if each.is_dir(follow_symlinks=False):
            if each.name.lower() not in _NOT_COPIED:
                yield from _files(Path(each.path))
        else:
            yield Path(each.path)


class _Copy:
    def __init__(self, source: Path, boundary: Path) -> None:
        self.left_out: list[str] = []
        self._source = Path(os.path.realpath(source))
        self._boundary = boundary
        self._files = MOST_FILES
        self._room = MOST_BYTES

    def folder(self, source: Path, target: Path, depth: int) -> None:
        for each in sorted(os.scandir(source), key=lambda each: each.name):
            if each.name.lower() in _NOT_COPIED:
                continue
            path = Path(each.path)
            if each.is_dir(follow_symlinks=False) and depth:
                (target / each.name).mkdir()
                self.folder(path, target / each.name, depth - 1)
            elif real := self._file(each):
                self._copy(real, target / each.name)
            else:
                self.left_out.append(str(path.relative_to(self._source)))

    def _file(self, entry: os.DirEntry[str]) -> Path | None:
        """Return the path of the regular file that an entry names; None if it may not be copied."""
        if entry.is_file(follow_symlinks=False):
            return Path(entry.path)
        real = Path(os.path.realpath(entry.path))
        inside = real.is_relative_to(self._boundary) and ".git" not in real.relative_to(self._boundary).parts
        return real if inside and real.is_file() else None

    def _copy(self, source: Path, target: Path) -> None:
        try:
            data, size = read_beginning(source, self._room + 1)
        except NotAFile as error:
            raise ConfigError(f"{source} cannot be copied: it is {error}") from error
        self._files -= 1
        self._room -= size
        if self._files < 0 or self._room < 0:
            limits = f"{MOST_FILES:,} files with {MOST_BYTES // 2**20} MB"
            raise ConfigError(f"{self._source} is too large for a plugin; the limit is {limits}")
        target.write_bytes(data)
        target.chmod(0o700 if os.access(source, os.X_OK) else 0o600)
