"""Places that a call accesses: the files and folders that its paths lead to, as written and with links resolved."""

from __future__ import annotations

import glob
import os
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
    def names(self) -> tuple[str, str]:
        """Both forms as the user knows them, the resolved one first: relative to the workspace if inside."""
        return self._relative(self.resolved), self._relative(self.written)

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
    def _forms(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return (self.written, self.root), (self.resolved, self.resolved_root)

    def _relative(self, path: str) -> str:
        root = next((each for each in (self.resolved_root, self.root) if is_within(path, each)), None)
        return path if root is None else os.path.relpath(path, root)


def places_of(access: PathAccess, root: Path, *, with_hidden: bool = False) -> list[Place]:
    """Return the places an access leads to: one, or those that a shell glob matches.

    Args:
        access: Path, relative to the workspace or absolute.
        root: Workspace root.
        with_hidden: True if `*` matches hidden files, too, as it does after `shopt -s dotglob`.

    Raises:
        Unresolvable: They cannot be determined.
    """
    base = os.path.abspath(root)  # noqa: PTH100  pathlib is too slow for every rule
    real = os.path.realpath(base)
    try:
        paths = _expanded(access, base, with_hidden=with_hidden)
        return [Place(os.path.normpath(each), os.path.realpath(each), base, real) for each in paths]
    except (OSError, ValueError) as error:
        raise Unresolvable(f"its path cannot be resolved: {access.path!r}") from error


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
