"""Path policy: which paths the agent may read and change, judged by their real location."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from harness.errors import FileMissing, OutsideWorkspace, WorkspaceError

_SUGGESTED = 5


class PathPolicy:
    """Folders that may be changed, and folders that may only be read.

    Symlinks, dangling ones included, and `..` are resolved before a path is checked.
    """

    def __init__(self, root: Path, extra: Sequence[Path], readable: Sequence[Path]) -> None:
        self._root = root
        self._extra = tuple(extra)
        self._readable = tuple(readable)

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(self._root)

    @cached_property
    def _changeable_folders(self) -> list[str]:
        return [self._real_root, *(os.path.realpath(folder.expanduser()) for folder in self._extra)]

    @cached_property
    def _readable_folders(self) -> list[str]:
        return [os.path.realpath(folder.expanduser()) for folder in self._readable]

    def extended(self, *, readable: Sequence[Path] = (), changeable: Sequence[Path] = ()) -> PathPolicy:
        """Return a policy that also allows reading or changing these files and folders."""
        read = tuple(path for path in readable if path not in self._readable)
        changed = tuple(path for path in changeable if path not in self._extra)
        if not read and not changed:
            return self
        return PathPolicy(self._root, (*self._extra, *changed), (*self._readable, *read))

    def resolve(self, path: str | Path, *, writing: bool) -> Path:
        """Resolve a path.

        Raises:
            OutsideWorkspace: The path is not allowed; the text names the allowed folders.
        """
        located = self.located(path)
        real = str(located)
        if _within(real, self._changeable_folders):
            return located
        if _within(real, self._readable_folders):
            if not writing:
                return located
            raise OutsideWorkspace(f"{real} may be read but not changed.")
        raise OutsideWorkspace(self._refusal(str(path), real))

    def located(self, path: str | Path) -> Path:
        """Return the real path, whether it is allowed or not, relative to the root and with `~` expanded.

        Raises:
            WorkspaceError: The path is not valid.
        """
        # os.path instead of pathlib: this runs for every read, and is three times as fast.
        try:
            return Path(os.path.realpath(os.path.join(self._real_root, os.path.expanduser(path))))  # noqa: PTH111, PTH118
        except ValueError as error:
            raise WorkspaceError(f"{str(path)!r} is not a valid path") from error

    def covers(self, real: str, *, writing: bool) -> bool:
        """Return True if `real`, a resolved path, may be read, or changed if `writing`."""
        return _within(real, self._changeable_folders) or (not writing and _within(real, self._readable_folders))

    def display(self, path: Path) -> str:
        """Return a path for display: relative to the root if it is inside."""
        real = str(path)
        for root in (self._real_root, str(self._root)):
            if real == root:
                return "."
            if _within(real, [root]):
                # A slice: computing the relative path takes as long as reading a small file.
                return real[len(root.rstrip("/")) + 1 :]
        return real

    def missing(self, path: Path) -> FileMissing:
        """Return the error for a path that does not exist, with similar names."""
        shown = self.display(path)
        folder = path.parent
        if not folder.is_dir():
            existing = next((each for each in folder.parents if each.is_dir()), Path("/"))
            return FileMissing(
                f"{shown} does not exist, nor does its folder. The nearest folder that does is "
                f"{self.display(existing)}; list it."
            )
        near = nearest_names(path.name, _names(folder))
        if near:
            names = ", ".join(self.display(folder / name) for name in near)
            return FileMissing(f"{shown} does not exist. Did you mean: {names}?")
        return FileMissing(f"{shown} does not exist. Search for it by its name.")

    def _refusal(self, path: str, real: str) -> str:
        leads = "" if path == real else f" (it leads to {real})"
        allowed = ", ".join(self._changeable_folders)
        return (
            f"{path}{leads} is outside the folders this session may access: {allowed}. "
            "Work inside them; if you need more, ask the user to start cinch with --add-dir."
        )


def real_paths(paths: Sequence[str], root: Path) -> tuple[str, ...] | None:
    """Return the real paths, relative ones resolved from `root`; None if one of them is invalid."""
    try:
        return tuple(os.path.realpath(os.path.join(root, os.path.expanduser(path))) for path in paths)  # noqa: PTH111, PTH118  runs for every call, and is three times as fast
    except (ValueError, TypeError, OSError):
        return None


def nearest_names(wanted: str, names: Sequence[str]) -> list[str]:
    """Return similar names, best first: close matches regardless of case, then names with the same stem."""
    lowered: dict[str, str] = {}
    for name in names:
        lowered.setdefault(name.lower(), name)
    close = [lowered[match] for match in get_close_matches(wanted.lower(), lowered, _SUGGESTED, 0.6)]
    stem = Path(wanted).stem.lower()
    same_stem = [name for name in names if stem and Path(name).stem.lower() == stem and name not in close]
    return [*close, *same_stem][:_SUGGESTED]


def is_within(path: str, folder: str) -> bool:
    """Return True if a path is a folder or leads below it. Both are absolute and normalized."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _within(real: str, folders: Sequence[str]) -> bool:
    return any(is_within(real, folder) for folder in folders)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  (names are wanted, not paths)
    except OSError:
        return []
