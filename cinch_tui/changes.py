"""File changes since the start of the session or against git, and reverting them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness.errors import CinchError, FileNotText, NotAFile
from harness.session.snapshots import Snapshot, Snapshots
from harness.views import DiffView
from harness.workspace.disk import is_folder, read_regular
from harness.workspace.file_text import digest, file_text
from harness.workspace.hunks import applied, hunks_of
from harness.workspace.moving import delete, listed, plan_deletion, restore
from harness.workspace.trash import Trash
from harness.workspace.workspace import MAX_EDITABLE, Workspace
from tools.environment import git_environment

MOST_FILES = 500
SECONDS = 20.0


Base: TypeAlias = Literal["session", "git"]


class FileChange(Struct, frozen=True):
    """A changed file."""

    path: Path
    shown: str
    """The path for display."""

    before: bytes | None
    """The previous content; None if the file did not exist."""

    now: bytes | None
    """The current content; None if the file does not exist."""

    is_known: bool = True
    """False if the previous content was not recorded."""

    moved: str = ""
    """For a moved file, the other path."""

    now_at: Path | None = None
    """For a folder, or a file without a copy, that was moved or deleted: where it is."""

    is_folder: bool = False
    """True for a new folder that was copied or moved here as a whole."""

    @property
    def status(self) -> Literal["A", "D", "M", "R"]:
        """Letter of the kind of change: added, deleted, modified, moved."""
        if self.moved:
            return "R"
        if self.now_at is not None:
            return "D"
        if self.before is None and self.is_known:
            return "A"
        return "D" if self.now is None else "M"

    @property
    def kind(self) -> str:
        """Description of a change that has no diff."""
        if self.now_at is not None:
            return "moved as a whole" if self.moved else "in the trash"
        if self.is_folder:
            return "folder"
        return "binary" if self.is_known else "?"

    @property
    def view(self) -> DiffView | None:
        """The change as a diff; None if a side is not text, or unknown, or for a folder as a whole."""
        if self.now_at is not None or self.is_folder:
            return None
        try:
            old, new = (data if data is None else file_text(data).text for data in (self.before, self.now))
        except FileNotText:
            return None
        return DiffView(self.shown, old, new) if self.is_known else None


class SessionChanges:
    """The changes of a session; `remind` informs the model about reverted changes."""

    def __init__(self, originals: Snapshots, workspace: Workspace, remind: Callable[[str], None]) -> None:
        self._originals = originals
        self._workspace = workspace
        self._remind = remind

    def changes(self, base: Base) -> list[FileChange]:
        """Return the files that differ from the start of the session, or from the last commit.

        Raises:
            CinchError: `base` is git, and this is not a repository.
        """
        if base == "git":
            return _with_moves(changes_against_git(self._workspace))
        originals = self._originals.all()
        moved_to = {each.now_at for each in originals}
        found = (self._change(each) for each in originals if each.path not in moved_to)
        return _with_moves([change for change in found if _is_change(change)])

    def _change(self, original: Snapshot) -> FileChange:
        path, display = original.path, self._workspace.display
        if original.now_at is None:
            is_new_folder = original.data is None and original.is_kept and is_folder(path)
            now = _content(path)
            return FileChange(path, display(path), original.data, now, original.is_kept, is_folder=is_new_folder)
        moved = display(original.now_at) if self._workspace.covers(str(original.now_at)) else ""
        return FileChange(path, display(path), None, None, moved=moved, now_at=original.now_at)

    async def revert(self, change: FileChange, refused: Sequence[int]) -> str:
        """Revert the hunks in `refused`, with all of them the whole file; return a description for the model.

        Raises:
            CinchError: the file has changed meanwhile, or cannot be written.
        """
        done = await _revert(self._workspace, change, refused)
        self._remind(done)
        return done


def changes_against_git(workspace: Workspace) -> list[FileChange]:
    """Return the files of the workspace that differ from the last commit, including untracked ones.

    Raises:
        CinchError: this is not a git repository, or git fails.
    """
    root = workspace.root
    others = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    known = _git(
        root, "diff", "--name-only", "--no-renames", "--relative", "--no-ext-diff", "--no-textconv", "-z", "HEAD"
    ).split(b"\0")
    # A file that was removed from git but exists on disk is in both lists; it counts as known.
    named = {
        name.decode(errors="surrogateescape"): is_new
        for names, is_new in ((others, True), (known, False))
        for name in names
        if name
    }
    changes = [_from_git(root, path, is_new=is_new) for path, is_new in sorted(named.items())[:MOST_FILES]]
    return [change for change in changes if change.before != change.now]


def _is_change(change: FileChange) -> bool:
    if change.now_at is not None:
        # The trash may have been emptied, and a folder may have been moved back.
        return change.now_at != change.path and os.path.lexists(change.now_at)
    return not change.is_known or change.is_folder or change.before != change.now


def _with_moves(changes: Sequence[FileChange]) -> list[FileChange]:
    """Link deleted and new files with the same content as moved."""
    gone = {each.before: each.shown for each in changes if each.now is None and each.before}
    came = {each.now: each.shown for each in changes if each.before is None and each.now and each.is_known}

    def other(change: FileChange) -> str:
        if change.now is None:
            return came.get(change.before or b"", "")
        return gone.get(change.now, "") if change.before is None and change.is_known else ""

    return [replace(change, moved=change.moved or other(change)) for change in changes]


async def _revert(workspace: Workspace, change: FileChange, refused: Sequence[int]) -> str:
    # Written on behalf of the user, so that the agent has to read the file again.
    hand = workspace.with_own_reads().with_access(changeable=(change.path,))
    if change.now_at is not None:
        await restore(hand, change.now_at, change.path)
        return f"The user moved {change.shown} back to where it was."
    if change.is_folder:
        trash = Trash(workspace.trash) if workspace.trash else None
        if trash is None:
            raise CinchError(f"{change.shown} cannot be removed: there is no trash")
        remaining = await delete(hand, await plan_deletion(hand, str(change.path), trash), trash)
        if remaining:
            raise CinchError(f"{change.shown} was not removed completely: {listed(change.path, remaining)}")
        return f"The user removed {change.shown} again."
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
        raise CinchError(f"{change.shown} has changed meanwhile; review it again")
    await hand.write(change.path, text or "")
    return (
        f"The user reverted {len(refused)} of {hunks} changes in {change.shown}. Read it again before you change "
        "it, and do not make those changes again unless the user asks for it."
    )


def _from_git(root: Path, path: str, *, is_new: bool) -> FileChange:
    before = None
    if not is_new:
        with suppress(CinchError):  # staged, but never committed
            before = _git(root, "cat-file", "--filters", f"HEAD:./{path}")
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
        raise CinchError(f"git could not be run: {error}") from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise CinchError(f"git found nothing to compare with: {reason}")
    return done.stdout
