"""Places that a call accesses: the files and folders that its paths lead to, as written and with links resolved."""

from __future__ import annotations

import glob
import os
import stat
from itertools import islice
from pathlib import Path

from msgspec import Struct

from harness.approval.patterns import path_matches
from harness.risk import PathAccess
from harness.workspace.path_policy import is_within

MOST_NAMES = 1_000
"""Maximum number of files that a glob may match."""

_UNSUPPORTED = ("[[", "[:", "[.", "[=")


class Unresolvable(Exception):
    """The places of an access cannot be determined; the message is the reason."""


class Place(Struct, frozen=True):
    """A file or folder that a call accesses, and the workspace root in the same forms."""

    written: str
    """Absolute path as the call names it, normalized."""
    resolved: str
    """Absolute path with links resolved."""
    root: str
    """Workspace root as written."""
    resolved_root: str
    """Workspace root with links resolved."""

    @property
    def names(self) -> tuple[str, ...]:
        """The forms as the user knows them, the resolved one first: relative to the workspace if inside."""
        resolved, written = self._relative(self.resolved), self._relative(self.written)
        return (resolved,) if resolved == written else (resolved, written)

    def matches(self, pattern: str) -> bool:
        """Return True if a pattern matches both forms, as for an allow rule."""
        return all(path_matches(pattern, path, root) for path, root in self._forms)

    def touches(self, pattern: str) -> bool:
        """Return True if a pattern matches one form, as for an ask or deny rule."""
        # Some file systems ignore case.
        return any(
            path_matches(pattern, path, root) or path_matches(pattern.lower(), path.lower(), root.lower())
            for path, root in self._forms
        )

    @property
    def _forms(self) -> set[tuple[str, str]]:
        return {(self.written, self.root), (self.resolved, self.resolved_root)}

    def _relative(self, path: str) -> str:
        for root in (self.resolved_root, self.root):
            if is_within(path, root):
                return path[len(root) :].lstrip("/") or "."
        return path


class Places:
    """The places that the accesses of a call lead to, each found once.

    For a single decision: files and links may change before the next one.

    Args:
        root: Workspace root.
    """

    def __init__(self, root: str | Path) -> None:
        # `abspath` would take `link/..` for the folder of the link.
        self.root = os.path.realpath(root) if ".." in str(root) else os.path.abspath(root)  # noqa: PTH100  fast
        self._folders: dict[str, str] = {}
        self._found: dict[tuple[PathAccess, bool], list[Place]] = {}

    @property
    def real_root(self) -> str:
        """Workspace root with links resolved."""
        return self._real_folder(self.root)

    def of(self, access: PathAccess, *, with_hidden: bool = False) -> list[Place]:
        """Return the places an access leads to: one, or those that a shell glob matches.

        Args:
            access: Path, relative to the workspace or absolute.
            with_hidden: True if `*` matches hidden files, too, as it does after `shopt -s dotglob`.

        Raises:
            Unresolvable: They cannot be determined.
        """
        key = access, with_hidden and access.is_pattern
        if key not in self._found:
            try:
                paths = _expanded(access, self.root, with_hidden=with_hidden)
                root, real = self.root, self.real_root
                self._found[key] = [Place(os.path.normpath(each), self.real(each), root, real) for each in paths]
            except (OSError, ValueError) as error:
                raise Unresolvable(f"its path cannot be resolved: {access.path!r}") from error
        return self._found[key]

    def real(self, path: str) -> str:
        """Return an absolute path with links resolved."""
        folder, name = os.path.split(path)
        if name in ("", ".", ".."):
            return self._real_folder(path)
        path = os.path.join(self._real_folder(folder), name)  # noqa: PTH118  as below
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            is_link = False
        return os.path.realpath(path) if is_link else path

    def _real_folder(self, path: str) -> str:
        if path not in self._folders:
            self._folders[path] = os.path.realpath(path)
        return self._folders[path]


def _expanded(access: PathAccess, root: str, *, with_hidden: bool) -> list[str]:
    cwd, path = (os.path.expanduser(each) for each in (access.cwd, access.path))  # noqa: PTH111  no exceptions
    if cwd.startswith("~") or path.startswith("~"):
        raise Unresolvable(f"its path cannot be resolved: {access.path}")
    base = os.path.join(root, cwd)  # noqa: PTH118  three times as fast
    if not access.is_pattern:
        return [os.path.join(base, path)]  # noqa: PTH118  as above
    if any(each in path for each in _UNSUPPORTED):
        raise Unresolvable(f"its pattern cannot be resolved: {access.path}")
    pattern = os.path.join(glob.escape(base), path.replace("[^", "[!"))  # noqa: PTH118  as above
    found = list(islice(glob.iglob(pattern, include_hidden=with_hidden), MOST_NAMES + 1))  # noqa: PTH207
    if access.refuses_dashes and any(os.path.relpath(each, base).startswith("-") for each in found):
        raise Unresolvable(f"a file matches {access.path} whose name the program would take for an option")
    if len(found) > MOST_NAMES:
        raise Unresolvable(f"its pattern matches more than {MOST_NAMES:,} files: {access.path}")
    # Without a match, a shell passes the pattern on.
    return found or [os.path.join(base, path)]  # noqa: PTH118  as above
