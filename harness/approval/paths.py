"""Paths of a tool call: where they lead, and why reading or changing them needs approval.

One check serves all tools: `read_file`, searches, edits and every path of a shell command.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.approval.matching import accesses_of
from harness.approval.path_lists import is_published, is_secret, is_system_folder, protection_of
from harness.approval.places import Place, Places, Unresolvable
from harness.approval.secret_index import SecretIndex
from harness.risk import PathAccess, Risk
from harness.workspace.disk import is_folder, is_there
from harness.workspace.path_policy import is_within
from harness.workspace.workspace import Workspace

_HARMLESS = frozenset(
    {"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/random"}
    | {"/dev/urandom"}
)
_GIT_PARTS = {"config", "config.worktree", "hooks", "info", "objects", "refs", "commondir", "packed-refs", "modules"}


_VITAL = "it would delete or move the workspace, or a home or system folder"

MOST_CONTENTS = 5_000
"""Files and folders in a moved or deleted folder that are compared with the protected paths."""


class _Concern(Struct, frozen=True):
    """Reason why a call needs approval."""

    why: str
    is_dangerous: bool = False
    """True if no rule may allow the call."""


class PathFacts:
    """Check of the paths of a call in a workspace; each decision needs a new one.

    Args:
        workspace: Workspace of the call.
        environ: Environment in which programs are looked up; None for that of the process.
    """

    def __init__(self, workspace: Workspace, environ: Mapping[str, str] | None = None) -> None:
        self.places = Places(workspace.root)
        """Places that the paths lead to."""
        self._workspace = workspace
        self._environ = os.environ if environ is None else environ

    def check(self, risk: Risk) -> Risk:
        """Return the risk with the concern that its paths raise, if any; a protected path makes it dangerous."""
        if any(self._is_vital(access) for access in risk.removals):
            return replace(risk, level="forbidden", reason=_VITAL)
        if risk.level == "forbidden":
            return risk
        concerns = [concern for access in accesses_of(risk) for concern in self._concerns(access)]
        concerns += self._concerns_about_programs(risk.programs)
        if not risk.commands:
            concerns += [concern for access in risk.removals for concern in self._about_contents(access)]
        if not concerns:
            return risk
        dangerous = next((concern.why for concern in concerns if concern.is_dangerous), "")
        if dangerous and risk.level not in ("dangerous", "forbidden"):
            risk = replace(risk, level="dangerous", reason=dangerous)
        return risk if risk.concern else replace(risk, concern=dangerous or concerns[0].why)

    def _is_vital(self, removal: PathAccess) -> bool:
        """Return True if the workspace, or a home or system folder, is among what a call deletes or moves."""
        vital = (self.places.real_root, self.places.real(os.path.expanduser("~")))  # noqa: PTH111  no exceptions
        with suppress(Unresolvable):
            if any(_is_system(place) for place in self.places.of(removal)):
                return True
            removed = [place.resolved for place in self.places.of(_without_globs(removal))]
            return any(is_within(each, folder) for each in vital for folder in removed)
        return False

    def places_outside(self, risk: Risk, *, writing: bool) -> tuple[Path, ...]:
        """Return the files and folders outside the workspace that a call accesses, as far as they can be determined.

        Args:
            risk: Risk of the call.
            writing: True for the files it changes, False for those it reads.
        """
        found: list[Path] = []
        for access in accesses_of(risk):
            if (access.kind == "write") is writing:
                with suppress(Unresolvable):
                    places = (each.resolved for each in self.places.of(access))
                    found += [Path(each) for each in places if not self._workspace.covers(each, writing=writing)]
        return tuple(found)

    def _concerns(self, access: PathAccess) -> Iterator[_Concern]:
        try:
            places = self.places.of(access)
        except Unresolvable as error:
            yield _Concern(str(error))
            return
        for place in places:
            # The standard streams are links to whatever this process reads and writes.
            if place.resolved in _HARMLESS or access.path in _HARMLESS or place.resolved.startswith("/dev/fd/"):
                continue
            yield from self._about_write(place) if access.kind == "write" else self._about_read(place, access)

    def _about_read(self, place: Place, access: PathAccess) -> Iterator[_Concern]:
        secret = next((path for path in place.names if is_secret(path)), "")
        # A list shows names and sizes only.
        if secret and (access.kind != "list" or not self._workspace.covers(place.resolved)):
            yield _Concern(f"it reads a secret: {secret}")
        elif not self._workspace.covers(place.resolved):
            yield _Concern(f"it reads outside the workspace: {place.resolved}")
        elif access.kind == "search" and not access.skips_secrets:
            problem = _index(place.resolved).problem(access)
            yield from (_Concern(problem),) if problem else ()

    def _about_write(self, place: Place) -> Iterator[_Concern]:
        for path in place.names:
            if why := protection_of(path):
                yield _Concern(f"it changes {path}: {why}", is_dangerous=True)
        if os.path.basename(place.resolved).lower() == "head":  # noqa: PTH119  as below
            why = "such a file can turn its folder into a git repository"
            yield _Concern(f"it changes {place.names[0]}: {why}", is_dangerous=True)
        if folder := git_folder(place.resolved_root, place.resolved):
            why = f"git uses {os.path.relpath(folder, place.resolved_root)} as a repository"
            yield _Concern(f"it changes {place.names[0]}: {why}", is_dangerous=True)
        if not self._workspace.covers(place.resolved, writing=True):
            yield _Concern(f"it writes outside the workspace: {place.resolved}")

    def _about_contents(self, removal: PathAccess) -> Iterator[_Concern]:
        """Yield a concern if a folder that is moved or deleted contains a protected path."""
        try:
            places = self.places.of(removal)
        except Unresolvable:
            return
        # Of a link, the link itself is moved or deleted.
        folders = [place.resolved for place in places if not os.path.islink(place.written)]  # noqa: PTH114  fast
        folders = [folder for folder in folders if not is_published(os.path.basename(folder))]  # noqa: PTH119  as below
        seen = 0
        while folders:
            for entry in _entries(folders.pop()):
                seen += 1
                path = os.path.relpath(entry.path, self.places.real_root)
                if why := protection_of(path):
                    yield _Concern(f"it moves or deletes {path}: {why}", is_dangerous=True)
                    return
                if entry.is_dir(follow_symlinks=False) and not is_published(entry.name):
                    folders.append(entry.path)
            if seen > MOST_CONTENTS:
                yield _Concern("it moves or deletes a folder that is too large to check for protected files")
                return

    def _concerns_about_programs(self, names: Sequence[str]) -> Iterator[_Concern]:
        for name in names:
            path = self._program(name)
            if path is None:
                yield _Concern(f"{name} is not a program of the system")
            elif is_within(path, self.places.real_root) or self._workspace.covers(path, writing=True):
                yield _Concern(f"{name} is a program of the workspace: {path}")

    def _program(self, name: str) -> str | None:
        """Return the resolved path of a program, or None."""
        for folder in self._environ.get("PATH", os.defpath).split(os.pathsep):
            path = name if name.startswith("/") else f"{folder}/{name}"
            if _is_program(path) and _is_safe(folder, self.places):
                return self.places.real(path)
        return None


def _is_system(place: Place) -> bool:
    """Return True if an entry that is deleted or moved is a system folder; of a link, the link itself counts."""
    is_link = os.path.islink(place.written)  # noqa: PTH114  fast
    return is_system_folder(place.written) or (not is_link and is_system_folder(place.resolved))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except OSError:
        return []


def _without_globs(access: PathAccess) -> PathAccess:
    """Return the folder that a glob for all files in it stands for (`build/*`), unless that is the current one."""
    folder, _, name = access.path.rstrip("/").rpartition("/")
    if not access.is_pattern or not folder or set(name) - set("*.?"):
        return access
    return replace(access, path=folder, is_pattern=glob.has_magic(folder))


def safe_path(path: str, root: str) -> tuple[str, ...]:
    """Return the folders of a PATH in which a workspace cannot place programs: no relative ones, none inside it.

    Args:
        path: Value of PATH.
        root: Resolved root of the workspace.
    """
    places = Places(root)
    return tuple(folder for folder in path.split(os.pathsep) if _is_safe(folder, places))


def _is_safe(folder: str, places: Places) -> bool:
    return os.path.isabs(folder) and not is_within(places.real(folder), places.real_root)  # noqa: PTH117  fast


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)  # noqa: PTH116  fast
    except (OSError, ValueError):
        return False


def git_folder(root: str, real: str) -> str:
    """Return the folder in the workspace that git would use as its directory and `real` is part of; empty if none."""
    folder, child = os.path.split(real)
    while is_within(folder, root):
        if child.lower() in _GIT_PARTS and is_there((base := Path(folder)) / "HEAD"):
            has_objects = is_folder(base / "objects") and is_folder(base / "refs")
            # With `commondir`, objects and refs are elsewhere.
            if has_objects or is_there(base / "commondir"):
                return folder
        folder, child = os.path.split(folder)
    return ""


@lru_cache(maxsize=16)
def _index(folder: str) -> SecretIndex:
    return SecretIndex(folder)
