"""What changed in the files: since the session began, or against git; and putting it back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from harness.errors import CinchError, FileNotText, NotAFile
from harness.lazy_dataclass import dataclass
from harness.session.snapshots import Snapshots
from harness.views import DiffView
from harness.workspace.disk import read_regular
from harness.workspace.file_text import digest, file_text
from harness.workspace.hunks import applied, hunks_of
from harness.workspace.workspace import MAX_EDITABLE, Workspace
from tools.git_environment import git_environment

MOST_FILES = 500
SECONDS = 20.0


Base: TypeAlias = Literal["session", "git"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and now, as bytes; None where there is none. Not `is_known`: nobody kept what was before. `moved`:
    where the same content was before or is now, of a file that went or came."""

    path: Path
    shown: str
    before: bytes | None
    now: bytes | None
    is_known: bool = True
    moved: str = ""

    @property
    def view(self) -> DiffView | None:
        """The change as a diff; None where one side is no text, or not known."""
        try:
            sides = [data if data is None else file_text(data).text for data in (self.before, self.now)]
        except FileNotText:
            return None
        return DiffView(self.shown, *sides) if self.is_known else None


class SessionChanges:
    """The changes of a session. `remind` tells the model what the person put back."""

    def __init__(self, originals: Snapshots, workspace: Workspace, remind: Callable[[str], None]) -> None:
        self._originals = originals
        self._workspace = workspace
        self._remind = remind

    def changes(self, base: Base) -> list[FileChange]:
        """The files that differ from how they were.

        Raises:
            CinchError: there is nothing to compare with.
        """
        found = (
            changes_against_git(self._workspace)
            if base == "git"
            else changes_since_start(self._originals, self._workspace)
        )
        return detect_moves(found)

    async def revert(self, change: FileChange, refused: Sequence[int]) -> str:
        """Take back the refused hunks, all for the whole file; what was done, in words.

        Raises:
            CinchError: the file is not as it was looked at any more, or cannot be written.
        """
        done = await revert(self._workspace, change, refused)
        self._remind(done)
        return done


def changes_since_start(originals: Snapshots, workspace: Workspace) -> list[FileChange]:
    """The files this session changed that are not as they were."""
    changes = [
        FileChange(each.path, workspace.display(each.path), each.data, _content(each.path), each.is_kept)
        for each in originals.all()
    ]
    return [change for change in changes if not change.is_known or change.before != change.now]


def changes_against_git(workspace: Workspace) -> list[FileChange]:
    """The files of the workspace that differ from the last commit, new ones included.

    Raises:
        CinchError: this is no git repository, or git fails.
    """
    root = workspace.root
    others = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    known = _git(
        root, "diff", "--name-only", "--no-renames", "--relative", "--no-ext-diff", "--no-textconv", "-z", "HEAD"
    ).split(b"\0")
    # What was taken out of git and left on disk is in both; the commit knows it.
    named = {
        name.decode(errors="surrogateescape"): is_new
        for names, is_new in ((others, True), (known, False))
        for name in names
        if name
    }
    changes = [_from_git(root, path, is_new=is_new) for path, is_new in sorted(named.items())[:MOST_FILES]]
    return [change for change in changes if change.before != change.now]


def detect_moves(changes: Sequence[FileChange]) -> list[FileChange]:
    """Files that went and came with the same content know of each other."""
    gone = {each.before: each.shown for each in changes if each.now is None and each.before}
    came = {each.now: each.shown for each in changes if each.before is None and each.now and each.is_known}

    def other(change: FileChange) -> str:
        if change.now is None:
            return came.get(change.before or b"", "")
        return gone.get(change.now, "") if change.before is None and change.is_known else ""

    return [replace(change, moved=other(change)) for change in changes]


async def revert(workspace: Workspace, change: FileChange, refused: Sequence[int]) -> str:
    """Take back the refused hunks, all for the whole file; what was done, in words for the model.

    Raises:
        CinchError: the file is not as it was looked at any more, or cannot be written.
    """
    # Who works for the person has read what they saw; the agent has to read it again.
    hand = workspace.for_subagent()
    view = change.view
    hunks = len(hunks_of(view)) if view else 1
    now = None if change.now is None else digest(change.now)
    if view is None or len(refused) == hunks:
        await hand.restore(change.path, change.before, now=now)
        if change.before is None:
            return f"The user removed {change.shown} again."
        return f"The user reverted {change.shown}. Read it again before you change it."
    text = applied(view, [number for number in range(hunks) if number not in refused])
    if (await hand.read(change.path)).digest != now:
        raise CinchError(f"{change.shown} has just been changed; look at it again")
    await hand.write(change.path, text or "")
    return (
        f"The user reverted {len(refused)} of {hunks} changes in {change.shown}. Read it again before you change "
        "it, and do not make those changes again unless the user asks for it."
    )


def _from_git(root: Path, path: str, *, is_new: bool) -> FileChange:
    before = None
    if not is_new:
        try:
            before = _git(root, "cat-file", "--filters", f"HEAD:./{path}")
        except CinchError:
            before = None  # staged, but never committed
    return FileChange(root / path, path, before, _content(root / path))


def _content(path: Path) -> bytes | None:
    try:
        data = read_regular(path)
    except (OSError, NotAFile):
        return None
    return data if len(data) <= MAX_EDITABLE else data[:MAX_EDITABLE]


def _git(root: Path, *words: str) -> bytes:
    environment = git_environment(os.environ, [root], "read")
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CinchError(f"git could not be asked: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise CinchError(f"git has nothing to compare with: {said}")
    return done.stdout
